// Nothing to do: the index of migration 001 is enough here. Databases have this version, so the number stays taken.
export default 'select 1'
