// AUTOINCREMENT: an id is never used twice, not even after rows were deleted by hand.
export default `
  create table animals (
    id integer primary key autoincrement,
    name text not null,
    category_id integer not null,
    status text check (status in ('available', 'pending', 'sold'))
  ) strict;

  create index animals_by_status on animals (status) where status is not null;
`
