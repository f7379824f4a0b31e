// The same queries on SQLite and on PostgreSQL. sqlx prepares a statement when a connection first uses it, and caches it
// with the connection.

use crate::{Animal, NewAnimal, Page};
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
}
