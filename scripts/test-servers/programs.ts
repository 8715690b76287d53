import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The servers that the suite starts, and who looks at a unit of systemd, with Debian's package of each. */
export const packages = {
  postgres: 'postgresql',
  'redis-server': 'redis-server',
  nginx: 'nginx-light',
  caddy: 'caddy',
  'systemd-analyze': 'systemd',
} as const

export type ServerProgram = keyof typeof packages

const postgresFolder = '/usr/lib/postgresql'

/** The folders of PostgreSQL's programs, the newest first: Debian keeps them out of PATH. */
function postgresFolders(): string[] {
  if (!existsSync(postgresFolder)) return []
  return readdirSync(postgresFolder)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(postgresFolder, version, 'bin'))
}

/** Where a program is; undefined where it is not installed. */
export function pathOf(program: string): string | undefined {
  const inPath = (process.env['PATH'] ?? '').split(delimiter)
  const folders = [...postgresFolders(), ...inPath, '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/** The servers that are not installed. */
export function missingServers(): ServerProgram[] {
  // The keys are those of the table.
  return (Object.keys(packages) as ServerProgram[]).filter((name) => pathOf(name) === undefined)
}
