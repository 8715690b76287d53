import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { projectFolder } from '../folder.ts'

/** Members of a service that the tests read. */
export type Service = {
  image: string
  command?: string[]
  hostname?: string
  environment?: Record<string, string>
  env_file?: string
  ports?: string[]
  volumes?: string[]
  networks: string[] | Record<string, { ipv4_address?: string }>
  depends_on?: Record<string, { condition: string }>
  healthcheck: { test: string[] }
  restart: string
  read_only?: boolean
  pids_limit: number
  stop_signal?: NodeJS.Signals
  stop_grace_period?: string
  deploy: { resources: { limits: { cpus: string; memory: string } } }
}

export type ComposeFile = {
  name: string
  services: Record<string, Service>
  networks: Record<string, { internal?: boolean } | null>
  volumes: Record<string, object>
}

const folder = join(projectFolder, 'deploy')

/** Parses deploy/compose.yaml, with anchors resolved and variables at their defaults. */
export function readComposeFile(): ComposeFile {
  const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
  const filled = text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
  return parse(filled, { merge: true }) as ComposeFile
}

/** Variables in the example of an env file. */
export function readExample(name: string): Record<string, string> {
  const text = readFileSync(join(folder, `${name}.example`), 'utf8')
  return parseEnv(text) as Record<string, string>
}

/** Service names, sorted so that each follows its dependencies. */
export function startOrder({ services }: ComposeFile): string[] {
  const order: string[] = []
  const add = (name: string, on: readonly string[]): void => {
    if (on.includes(name)) throw new Error(`${name} depends on itself.`)
    for (const other of Object.keys(services[name]!.depends_on ?? {})) add(other, [...on, name])
    if (!order.includes(name)) order.push(name)
  }
  for (const name of Object.keys(services)) add(name, [])
  return order
}

/** Converts a duration such as `45s` or `1m30s` to seconds. */
export function secondsOf(duration: string): number {
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration)!
  return Number(minutes) * 60 + Number(seconds)
}
