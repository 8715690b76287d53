import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { projectFolder } from '../folder.ts'

/** What the tests look at of a service. */
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

/** deploy/compose.yaml, with its anchors and with the defaults of its variables. */
export function readComposeFile(): ComposeFile {
  const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
  const filled = text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
  return parse(filled, { merge: true }) as ComposeFile
}

/** The variables of an env file, as its example has them. */
export function readExample(name: string): Record<string, string> {
  const text = readFileSync(join(folder, `${name}.example`), 'utf8')
  return parseEnv(text) as Record<string, string>
}

/** Services in an order in which each comes behind those that it waits for. */
export function startOrder({ services }: ComposeFile): string[] {
  const order: string[] = []
  const add = (name: string, on: readonly string[]): void => {
    if (on.includes(name)) throw new Error(`${name} waits for itself.`)
    for (const other of Object.keys(services[name]!.depends_on ?? {})) add(other, [...on, name])
    if (!order.includes(name)) order.push(name)
  }
  for (const name of Object.keys(services)) add(name, [])
  return order
}

/** `45s` and `1m30s` in seconds. */
export function secondsOf(duration: string): number {
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration)!
  return Number(minutes) * 60 + Number(seconds)
}
