package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"runtime"

	_ "github.com/mattn/go-sqlite3"
)

// One connection writes, because SQLite allows one writer. The others read.
type sqliteStore struct {
	reader, writer *sql.DB
}

func openSQLite(path string) (store, error) {
	options := url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_busy_timeout": {"5000"}}
	source := "file:" + path + "?" + options.Encode()
	writer, err := sql.Open("sqlite3", source)
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := sql.Open("sqlite3", source)
	if err != nil {
		return nil, err
	}
	reader.SetMaxOpenConns(max(4, runtime.NumCPU()))
	reader.SetMaxIdleConns(max(4, runtime.NumCPU()))
	return sqliteStore{reader, writer}, nil
}

func (s sqliteStore) list(ctx context.Context, requested page) (result, error) {
	query := "select id, name, category_id, status from animals where id > ? order by id limit ?"
	args := []any{requested.after, requested.limit + 1}
	if requested.status != "" {
		query = "select id, name, category_id, status from animals where status = ? and id > ? order by id limit ?"
		args = append([]any{requested.status}, args...)
	}
	rows, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return result{}, err
	}
	defer rows.Close()
	found := result{animals: make([]animal, 0, requested.limit+1)}
	for rows.Next() {
		var each animal
		if err := rows.Scan(&each.ID, &each.Name, &each.CategoryID, &each.Status); err != nil {
			return result{}, err
		}
		found.animals = append(found.animals, each)
	}
	if err := rows.Err(); err != nil {
		return result{}, err
	}
	if len(found.animals) > requested.limit {
		found.animals, found.hasNext = found.animals[:requested.limit], true
	}
	if requested.after == 0 || len(found.animals) == 0 {
		return found, nil
	}
	if requested.status == "" {
		query, args = "select exists (select 1 from animals where id <= ?)", []any{requested.after}
	} else {
		query = "select exists (select 1 from animals where status = ? and id <= ?)"
		args = []any{requested.status, requested.after}
	}
	return found, s.reader.QueryRowContext(ctx, query, args...).Scan(&found.hasPrevious)
}

func (s sqliteStore) find(ctx context.Context, id int64) (*animal, error) {
	var found animal
	row := s.reader.QueryRowContext(ctx, "select id, name, category_id, status from animals where id = ?", id)
	err := row.Scan(&found.ID, &found.Name, &found.CategoryID, &found.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

func (s sqliteStore) create(ctx context.Context, given newAnimal) (int64, error) {
	query := "insert into animals (name, category_id, status) values (?, ?, ?)"
	done, err := s.writer.ExecContext(ctx, query, given.Name, *given.CategoryID, given.Status)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}
