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

// The statement of the service: of the first 10,000 animals after $1, at most $2 of the category $3 whose folded name contains
// $4.
const searchPostgres = `
	select coalesce(json, '[]'),
		case when (select id from animals where id < first order by id desc limit 1) is not null then first end,
		case when (select id from animals where id > last order by id limit 1) is not null then last end
	from (
		select
			'[' || string_agg(concat('{"id":', id, ',"name":', to_json(name), ',"categoryId":', category_id,
				',"status":"' || status || '"', '}'), ',') || ']' as json,
			(select id from animals where id > $1 order by id limit 1) as first,
			case when count(*) = $2 then max(id)
				else (select max(id) from (
					select id from animals where id > $1 order by id limit 10000) as examined) end as last
		from (
			select id, name, category_id, status
			from (
				select id, name, category_id, status, search_name
				from animals where id > $1 order by id limit 10000) as examined
			where ($3::bigint is null or category_id = $3)
				and ($4::text is null or strpos(coalesce(search_name, lower(name collate "C")), $4) > 0)
			limit $2::integer) as animal) as rendered`

// Without the check of the service whether the trigger keeps the inventory.
const inventoryPostgres = `
	select coalesce(sum(available), 0)::bigint, coalesce(sum(pending), 0)::bigint,
		coalesce(sum(sold), 0)::bigint, coalesce(sum(none), 0)::bigint
	from inventory`

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

func (s postgresStore) search(ctx context.Context, requested page) (searchResult, error) {
	var found searchResult
	row := s.pool.QueryRow(ctx, searchPostgres,
		requested.after, requested.limit, requested.categoryID, requested.folded())
	err := row.Scan(&found.json, &found.previous, &found.next)
	return found, err
}

func (s postgresStore) inventory(ctx context.Context) (inventory, error) {
	var counted inventory
	row := s.pool.QueryRow(ctx, inventoryPostgres)
	err := row.Scan(&counted.Available, &counted.Pending, &counted.Sold, &counted.None)
	return counted, err
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

func (s postgresStore) setStatus(ctx context.Context, id int64, status string) (*animal, error) {
	var changed animal
	query := "update animals set status = $1 where id = $2 returning id, name, category_id, status"
	row := s.pool.QueryRow(ctx, query, status, id)
	err := row.Scan(&changed.ID, &changed.Name, &changed.CategoryID, &changed.Status)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &changed, err
}

func (s postgresStore) create(ctx context.Context, given newAnimal) (int64, error) {
	query := "insert into animals (name, category_id, status) values ($1, $2, $3) returning id"
	var id int64
	err := s.pool.QueryRow(ctx, query, given.Name, *given.CategoryID, given.Status).Scan(&id)
	return id, err
}
