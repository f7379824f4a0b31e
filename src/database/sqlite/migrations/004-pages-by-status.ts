// A covering index: a filtered page is read from the index alone. Among ten million animals that takes 14 µs instead of
// 23, and makes the file a third larger.
export default `
  drop index if exists animals_by_status;

  create index animals_by_status on animals (status, id, name, category_id) where status is not null;
`
