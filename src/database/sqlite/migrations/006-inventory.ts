// One row, which counts the animals with an id of at most last_id.
export default `
  create table inventory (
    id integer primary key check (id = 1),
    available integer not null,
    pending integer not null,
    sold integer not null,
    none integer not null,
    last_id integer not null
  ) strict;

  insert into inventory
  select 1, count(*) filter (where status = 'available'), count(*) filter (where status = 'pending'),
    count(*) filter (where status = 'sold'), count(*) filter (where status is null),
    coalesce(max(id), -9223372036854775808)
  from animals;
`
