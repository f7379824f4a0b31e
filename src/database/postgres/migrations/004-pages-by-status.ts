// Nothing to do: the index of migration 001 is enough here. This file only keeps the version numbers of both databases
// equal.
export default 'select 1'
