// AUTOINCREMENT: an id is never given twice, not even after rows were removed by hand.
// The index on status holds the rowid too, so a filtered page needs no sort.
export default `
  create table animals (
    id integer primary key autoincrement,
    name text not null,
    category_id integer not null,
    status text check (status in ('available', 'pending', 'sold'))
  ) strict;

  create index animals_by_status on animals (status) where status is not null;
`
