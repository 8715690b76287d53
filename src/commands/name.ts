import { UsageError } from './command.ts'

/** A name in one line: lists print it, and a terminal does what some characters say. */
export function nameIn(given = ''): string {
  const name = given.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim()
  if (name === '') throw new UsageError('Say --name and a name.')
  return name
}

/** A name that came through the API, as a terminal may print it. */
export function shownName(name: string): string {
  return name.replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
}
