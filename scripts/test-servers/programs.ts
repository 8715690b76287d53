import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The programs that tests start, and the Debian packages of each. */
export const packages = {
  postgres: ['postgresql'],
  'redis-server': ['redis-server'],
  nginx: ['nginx-light'],
  caddy: ['caddy'],
  chromium: ['chromium'],
  // OpenStack Swift, whose proxy has the API of S3.
  'swift-proxy-server': ['swift-proxy'],
  'swift-account-server': ['swift-account'],
  'swift-container-server': ['swift-container'],
  'swift-object-server': ['swift-object'],
  // Evaluates the alerts of Prometheus.
  promtool: ['prometheus'],
  'systemd-analyze': ['systemd'],
  // Helm's template libraries: Debian does not package Helm itself.
  go: ['golang-go', 'golang-github-masterminds-sprig-dev', 'golang-k8s-sigs-yaml-dev'],
} as const

export type TestProgram = keyof typeof packages

const postgresFolder = '/usr/lib/postgresql'

/** The folders of PostgreSQL's programs, the newest first. Debian does not add them to PATH. */
function postgresFolders(): string[] {
  if (!existsSync(postgresFolder)) return []
  return readdirSync(postgresFolder)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(postgresFolder, version, 'bin'))
}

/** The path of a program; undefined when it is not installed. */
export function pathOf(program: string): string | undefined {
  const inPath = (process.env['PATH'] ?? '').split(delimiter)
  const folders = [...postgresFolders(), ...inPath, '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/** The apt-get command that installs missing programs (as root); undefined when none is missing. */
export function installCommand(): string | undefined {
  // Object.keys has type string[].
  const missing = (Object.keys(packages) as TestProgram[]).filter((name) => !pathOf(name))
  const names = missing.flatMap((name) => packages[name])
  return names.length === 0 ? undefined : `apt-get install ${names.join(' ')}`
}
