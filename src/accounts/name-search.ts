import { sql, type RawBuilder } from 'kysely'

/** Whether the column `name` has this text in it; a to z are also A to Z. */
export function isInName(text: string): RawBuilder<boolean> {
  const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  // The database has the letters a to z in lower case.
  const plain = pattern.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  return sql<boolean>`lower(name) like ${plain} escape '\\'`
}
