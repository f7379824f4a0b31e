// The same queries on SQLite and on PostgreSQL, except for searches and the inventory. sqlx prepares a statement when a
// connection first uses it, and caches it with the connection.

use crate::{Animal, Inventory, NewAnimal, Page};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use std::env;

const LIST: &str =
    "select id, name, category_id, status from animals where id > $1 order by id limit $2";
const LIST_BY_STATUS: &str = "select id, name, category_id, status from animals where status = $3 and id > $1 order by id limit $2";
const HAS_PREVIOUS: &str = "select exists (select 1 from animals where id <= $1)";
const HAS_PREVIOUS_BY_STATUS: &str =
    "select exists (select 1 from animals where status = $2 and id <= $1)";
const FIND: &str = "select id, name, category_id, status from animals where id = $1";
const CREATE: &str =
    "insert into animals (name, category_id, status) values ($1, $2, $3) returning id";
const SET_STATUS: &str =
    "update animals set status = $1 where id = $2 returning id, name, category_id, status";

// The statement of the service: of the first 10,000 animals after $1, at most $2 of the category $3 whose folded name
// contains $4.
const SEARCH_SQLITE: &str = "
    select json,
        iif(exists (select 1 from animals where id < first), first, null),
        iif(exists (select 1 from animals where id > last), last, null)
    from (
        select
            json_group_array(iif(status is null,
                json_object('id', id, 'name', name, 'categoryId', category_id),
                json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status))) as json,
            (select id from animals where id > $1 order by id limit 1) as first,
            iif(count(*) = $2, max(id),
                coalesce((select id from animals where id > $1 order by id limit 1 offset 9999),
                    (select max(id) from animals where id > $1))) as last
        from (
            select id, name, category_id, status
            from (
                select id, name, category_id, status, search_name
                from animals where id > $1 order by id limit 10000)
            where ($3 is null or category_id = $3)
                and ($4 is null or instr(coalesce(search_name, lower(name)), $4) > 0)
            limit $2 + 0))";
const SEARCH_POSTGRES: &str = r#"
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
            limit $2::integer) as animal) as rendered"#;

// The statement of the service, too: the inventory counts the animals up to its last id.
const INVENTORY_SQLITE: &str = "
    select
        available + count(animals.id) filter (where status = 'available') as available,
        pending + count(animals.id) filter (where status = 'pending') as pending,
        sold + count(animals.id) filter (where status = 'sold') as sold,
        none + count(animals.id) filter (where status is null) as none
    from inventory left join animals on animals.id > last_id";
// Without the check of the service whether the trigger keeps the inventory.
const INVENTORY_POSTGRES: &str = "
    select coalesce(sum(available), 0)::bigint as available, coalesce(sum(pending), 0)::bigint as pending,
        coalesce(sum(sold), 0)::bigint as sold, coalesce(sum(none), 0)::bigint as none
    from inventory";

/// What was found, as JSON, and the ids before and after which other pages lie.
type SearchResult = (String, Option<i64>, Option<i64>);

#[derive(Clone)]
pub enum Store {
    /// One connection writes, because SQLite allows one writer. The others read.
    Sqlite {
        reader: SqlitePool,
        writer: SqlitePool,
    },
    Postgres(PgPool),
}

macro_rules! list {
    ($pool:expr, $page:expr) => {{
        let Page {
            limit,
            after,
            status,
            ..
        } = $page;
        let mut animals: Vec<Animal> = match status {
            None => {
                sqlx::query_as(LIST)
                    .bind(after)
                    .bind(limit + 1)
                    .fetch_all($pool)
                    .await?
            }
            Some(status) => {
                sqlx::query_as(LIST_BY_STATUS)
                    .bind(after)
                    .bind(limit + 1)
                    .bind(status)
                    .fetch_all($pool)
                    .await?
            }
        };
        let has_next = animals.len() > *limit as usize;
        animals.truncate(*limit as usize);
        let has_previous = match status {
            _ if *after == 0 || animals.is_empty() => false,
            None => {
                sqlx::query_scalar(HAS_PREVIOUS)
                    .bind(after)
                    .fetch_one($pool)
                    .await?
            }
            Some(status) => {
                sqlx::query_scalar(HAS_PREVIOUS_BY_STATUS)
                    .bind(after)
                    .bind(status)
                    .fetch_one($pool)
                    .await?
            }
        };
        Ok((animals, has_previous, has_next))
    }};
}

macro_rules! search {
    ($pool:expr, $statement:expr, $page:expr, $text:expr) => {
        sqlx::query_as($statement)
            .bind($page.after)
            .bind($page.limit)
            .bind($page.category_id)
            .bind($text)
            .fetch_one($pool)
            .await
    };
}

macro_rules! create {
    ($pool:expr, $animal:expr) => {{
        let NewAnimal {
            name,
            category_id,
            status,
        } = $animal;
        sqlx::query_scalar(CREATE)
            .bind(name)
            .bind(category_id)
            .bind(status)
            .fetch_one($pool)
            .await
    }};
}

macro_rules! set_status {
    ($pool:expr, $id:expr, $status:expr) => {
        sqlx::query_as(SET_STATUS)
            .bind($status)
            .bind($id)
            .fetch_optional($pool)
            .await
    };
}

impl Store {
    pub async fn open() -> Store {
        let url = env::var("DATABASE_URL").unwrap_or_default();
        if url.starts_with("postgres:") {
            // As many as the service uses. By default, sqlx would ping the server before each statement.
            return Store::Postgres(
                PgPoolOptions::new()
                    .max_connections(10)
                    .test_before_acquire(false)
                    .connect(&url)
                    .await
                    .unwrap(),
            );
        }
        let options = SqliteConnectOptions::new()
            .filename(env::var("DATABASE").unwrap())
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = |count| {
            SqlitePoolOptions::new()
                .max_connections(count)
                .test_before_acquire(false)
        };
        let writer = pool(1).connect_with(options.clone()).await.unwrap();
        Store::Sqlite {
            reader: pool(4).connect_with(options).await.unwrap(),
            writer,
        }
    }

    /// Returns the animals, whether others precede them, and whether others follow.
    pub async fn list(&self, page: &Page) -> sqlx::Result<(Vec<Animal>, bool, bool)> {
        match self {
            Store::Sqlite { reader, .. } => list!(reader, page),
            Store::Postgres(pool) => list!(pool, page),
        }
    }

    pub async fn search(&self, page: &Page, text: Option<String>) -> sqlx::Result<SearchResult> {
        match self {
            Store::Sqlite { reader, .. } => search!(reader, SEARCH_SQLITE, page, text),
            Store::Postgres(pool) => search!(pool, SEARCH_POSTGRES, page, text),
        }
    }

    pub async fn inventory(&self) -> sqlx::Result<Inventory> {
        match self {
            Store::Sqlite { reader, .. } => {
                sqlx::query_as(INVENTORY_SQLITE).fetch_one(reader).await
            }
            Store::Postgres(pool) => sqlx::query_as(INVENTORY_POSTGRES).fetch_one(pool).await,
        }
    }

    pub async fn find(&self, id: i64) -> sqlx::Result<Option<Animal>> {
        match self {
            Store::Sqlite { reader, .. } => {
                sqlx::query_as(FIND).bind(id).fetch_optional(reader).await
            }
            Store::Postgres(pool) => sqlx::query_as(FIND).bind(id).fetch_optional(pool).await,
        }
    }

    pub async fn create(&self, animal: &NewAnimal) -> sqlx::Result<i64> {
        match self {
            Store::Sqlite { writer, .. } => create!(writer, animal),
            Store::Postgres(pool) => create!(pool, animal),
        }
    }

    pub async fn set_status(&self, id: i64, status: &str) -> sqlx::Result<Option<Animal>> {
        match self {
            Store::Sqlite { writer, .. } => set_status!(writer, id, status),
            Store::Postgres(pool) => set_status!(pool, id, status),
        }
    }
}
