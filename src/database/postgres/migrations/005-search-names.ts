// The folded name of an animal whose name is not ASCII (docs/decisions/search.md). Folded text is compared byte by byte.
export default 'alter table animals add column if not exists search_name text collate "C"'
