package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"runtime"

	_ "github.com/mattn/go-sqlite3"
)

// Statements are prepared once for each connection. They are safe for concurrent use.
type sqliteStore struct {
	listAll, listByStatus                 *sql.Stmt
	hasPreviousOfAll, hasPreviousByStatus *sql.Stmt
	searchAll, readInventory              *sql.Stmt
	findByID, insert, updateStatus        *sql.Stmt
}

// The statement of the service: of the first 10,000 animals after ?1, at most ?2 of the category ?3 whose folded name contains
// ?4.
const searchSQLite = `
	select json,
		iif(exists (select 1 from animals where id < first), first, null),
		iif(exists (select 1 from animals where id > last), last, null)
	from (
		select
			json_group_array(iif(status is null,
				json_object('id', id, 'name', name, 'categoryId', category_id),
				json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))) as json,
			(select id from animals where id > ?1 order by id limit 1) as first,
			iif(count(*) = ?2, max(id),
				coalesce((select id from animals where id > ?1 order by id limit 1 offset 9999),
					(select max(id) from animals where id > ?1))) as last
		from (
			select id, name, category_id, status
			from (
				select id, name, category_id, status, search_name
				from animals where id > ?1 order by id limit 10000)
			where (?3 is null or category_id = ?3)
				and (?4 is null or instr(coalesce(search_name, lower(name)), ?4) > 0)
			limit ?2 + 0))`

// The statement of the service, too: the inventory counts the animals up to its last id.
const inventorySQLite = `
	select
		available + count(animals.id) filter (where status = 'available'),
		pending + count(animals.id) filter (where status = 'pending'),
		sold + count(animals.id) filter (where status = 'sold'),
		none + count(animals.id) filter (where status is null)
	from inventory left join animals on animals.id > last_id`

func openSQLite(path string) (store, error) {
	options := url.Values{"_journal_mode": {"WAL"}, "_synchronous": {"FULL"}, "_busy_timeout": {"5000"}}
	source := "file:" + path + "?" + options.Encode()
	// One connection writes, because SQLite allows one writer. The others read.
	writer, err := openPool(source, 1)
	if err != nil {
		return nil, err
	}
	reader, err := openPool(source, max(4, runtime.NumCPU()))
	if err != nil {
		return nil, err
	}
	var s sqliteStore
	for _, each := range []struct {
		statement **sql.Stmt
		pool      *sql.DB
		query     string
	}{
		{&s.listAll, reader, "select id, name, category_id, status from animals where id > ? order by id limit ?"},
		{&s.listByStatus, reader, "select id, name, category_id, status from animals where status = ? and id > ? order by id limit ?"},
		{&s.hasPreviousOfAll, reader, "select exists (select 1 from animals where id <= ?)"},
		{&s.hasPreviousByStatus, reader, "select exists (select 1 from animals where status = ? and id <= ?)"},
		{&s.searchAll, reader, searchSQLite},
		{&s.readInventory, reader, inventorySQLite},
		{&s.findByID, reader, "select id, name, category_id, status from animals where id = ?"},
		{&s.insert, writer, "insert into animals (name, category_id, status) values (?, ?, ?)"},
		{&s.updateStatus, writer, "update animals set status = ? where id = ? returning id, name, category_id, status"},
	} {
		if *each.statement, err = each.pool.Prepare(each.query); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func openPool(source string, connections int) (*sql.DB, error) {
	pool, err := sql.Open("sqlite3", source)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

func (s sqliteStore) list(ctx context.Context, requested page) (result, error) {
	list, hasPrevious := s.listAll, s.hasPreviousOfAll
	var filter []any
	if requested.status != "" {
		list, hasPrevious = s.listByStatus, s.hasPreviousByStatus
		filter = []any{requested.status}
	}
	rows, err := list.QueryContext(ctx, append(filter, requested.after, requested.limit+1)...)
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
	rows.Close()
	if len(found.animals) > requested.limit {
		found.animals, found.hasNext = found.animals[:requested.limit], true
	}
	if requested.after == 0 || len(found.animals) == 0 {
		return found, nil
	}
	err = hasPrevious.QueryRowContext(ctx, append(filter, requested.after)...).Scan(&found.hasPrevious)
	return found, err
}

func (s sqliteStore) search(ctx context.Context, requested page) (searchResult, error) {
	var found searchResult
	row := s.searchAll.QueryRowContext(ctx, requested.after, requested.limit, requested.categoryID, requested.folded())
	err := row.Scan(&found.json, &found.previous, &found.next)
	return found, err
}

func (s sqliteStore) inventory(ctx context.Context) (inventory, error) {
	var counted inventory
	row := s.readInventory.QueryRowContext(ctx)
	err := row.Scan(&counted.Available, &counted.Pending, &counted.Sold, &counted.None)
	return counted, err
}

func (s sqliteStore) find(ctx context.Context, id int64) (*animal, error) {
	var found animal
	err := s.findByID.QueryRowContext(ctx, id).Scan(&found.ID, &found.Name, &found.CategoryID, &found.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

// SQLite commits when the row is closed, and Scan returns an error of that.
func (s sqliteStore) setStatus(ctx context.Context, id int64, status string) (*animal, error) {
	var changed animal
	row := s.updateStatus.QueryRowContext(ctx, status, id)
	err := row.Scan(&changed.ID, &changed.Name, &changed.CategoryID, &changed.Status)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &changed, err
}

func (s sqliteStore) create(ctx context.Context, given newAnimal) (int64, error) {
	done, err := s.insert.ExecContext(ctx, given.Name, *given.CategoryID, given.Status)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}
