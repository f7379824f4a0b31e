// What an operator is told if the schema of a database has another version than this program works with.

/** The end of a sentence that starts with "The database …". */
export function describeOtherSchema(version: number, latest: number): string {
  return version < latest
    ? `has schema ${version}, older than ${latest}: run animal-store migrate on it first`
    : `has schema ${version}, newer than ${latest}, the newest that this version knows: install a newer version of animal-store`
}
