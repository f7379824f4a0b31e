package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pgx prepares a statement when a connection first uses it, and caches it with the connection.
type postgresStore struct {
	pool *pgxpool.Pool
}

func openPostgres(databaseURL string) (store, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	// As many as the service uses.
	config.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return postgresStore{pool}, err
}

func (s postgresStore) list(ctx context.Context, requested page) (result, error) {
	query := "select id, name, category_id, status from animals where id > $1 order by id limit $2"
	args := []any{requested.after, requested.limit + 1}
	if requested.status != "" {
		query = "select id, name, category_id, status from animals where status = $3 and id > $1 order by id limit $2"
		args = append(args, requested.status)
	}
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return result{}, err
	}
	animals, err := pgx.CollectRows(rows, pgx.RowToStructByPos[animal])
	if err != nil {
		return result{}, err
	}
	found := result{animals: animals}
	if len(animals) > requested.limit {
		found.animals, found.hasNext = animals[:requested.limit], true
	}
	if requested.after == 0 || len(animals) == 0 {
		return found, nil
	}
	query, args = "select exists (select 1 from animals where id <= $1)", []any{requested.after}
	if requested.status != "" {
		query = "select exists (select 1 from animals where status = $2 and id <= $1)"
		args = append(args, requested.status)
	}
	err = s.pool.QueryRow(ctx, query, args...).Scan(&found.hasPrevious)
	return found, err
}

func (s postgresStore) find(ctx context.Context, id int64) (*animal, error) {
	var found animal
	row := s.pool.QueryRow(ctx, "select id, name, category_id, status from animals where id = $1", id)
	err := row.Scan(&found.ID, &found.Name, &found.CategoryID, &found.Status)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

func (s postgresStore) create(ctx context.Context, given newAnimal) (int64, error) {
	query := "insert into animals (name, category_id, status) values ($1, $2, $3) returning id"
	var id int64
	err := s.pool.QueryRow(ctx, query, given.Name, *given.CategoryID, given.Status).Scan(&id)
	return id, err
}
