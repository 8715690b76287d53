import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../../scripts/free-port.ts'
import { projectFolder } from '../folder.ts'
import { startCaddy } from '../servers/caddy.ts'
import { startNginx } from '../servers/nginx.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import { printedKey, startServer, type ServerProcess } from '../server-process.ts'
import { until } from '../until.ts'
import { readComposeFile, secondsOf, startOrder, type ComposeFile } from './compose-file.ts'
import { readImage } from './replayed-image.ts'

/** The services of compose.yaml, run as processes on this machine. */
export type Composed = {
  gateways: readonly string[]
  /** URLs of nginx, and of Caddy in front of the same gateways. */
  urls: { nginx: string; caddy: string }
  /** A test key that both gateways accept. */
  key: string
  /** A test key that works only from 127.0.0.2. */
  nearKey: string
  /** The current process of a service. */
  gateway(name: string): ServerProcess
  /** Stops a gateway as Compose does, starts it again and waits until it is healthy. */
  restart(name: string): Promise<{ code: number | null }>
  stop(): Promise<void>
}

const deployFolder = join(projectFolder, 'deploy')
const read = (path: string) => readFileSync(join(deployFolder, path), 'utf8')
const run = promisify(execFile)

/** Starts the services of compose.yaml below `folder`, on loopback, with the file's commands, variables and order. */
export async function startComposed(folder: string): Promise<Composed> {
  const file = readComposeFile()
  const image = readImage()
  const gateways = startOrder(file).filter(
    (name) => file.services[name]!.image === 'model-access-gateway',
  )
  const ports = new Map<string, number>()
  for (const name of gateways) ports.set(name, await freePort())
  const configFile = join(folder, 'gateway.yaml')
  const settings = replaced(read('gateway.yaml'), ['172.31.253.10/32', '127.0.0.1/32'])
  writeFileSync(configFile, `${settings}\nlimits: { requests_per_minute: 1000000 }\n`)
  const stores = await startStores(file)
  const running = new Map<string, ServerProcess>()

  const variablesOf = (name: string) => ({
    ...image.variables,
    ...stores.variables,
    ...file.services[name]!.environment,
    HOST: '127.0.0.1',
    PORT: String(ports.get(name)),
    DATA_DIR: volumeOf(name),
    CONFIG_FILE: configFile,
    NODE_COMPILE_CACHE: join(folder, 'cache'),
    LOG_LEVEL: 'warn',
  })
  const volumeOf = (name: string) => {
    const volume = file.services[name]!.volumes!.find((one) => one.endsWith(':/data'))!
    return join(folder, volume.split(':')[0]!)
  }
  const start = async (name: string) => {
    const [program, ...words] = image.command
    const command = words.map((word) => (word.endsWith('.cjs') ? join(projectFolder, word) : word))
    if (program !== '/usr/local/bin/node') throw new Error(`The image runs ${program}.`)
    const variables = variablesOf(name)
    const server = await startServer({ folder, variables, command: [process.execPath, command] })
    running.set(name, server)
    await until(`${name} is healthy`, () => isHealthy(name, variables), 30_000)
  }
  const isHealthy = async (name: string, variables: Record<string, string>) => {
    const [kind, , ...words] = file.services[name]!.healthcheck.test
    if (kind !== 'CMD') throw new Error(`${name} has no health check that can be run.`)
    const options = { cwd: projectFolder, env: variables }
    return run(process.execPath, words, options).then(
      () => true,
      () => false,
    )
  }
  const first = gateways[0]!
  await start(first)
  const key = printedKey(running.get(first)!)!
  const script = join(projectFolder, 'src/command-line.ts')
  const words = ['keys', 'create', '--mode', 'test', '--name', 'near', '--allow-ip', '127.0.0.2/32']
  const options = { cwd: folder, env: variablesOf(first) }
  const nearKey = (await run(process.execPath, [script, ...words], options)).stdout.trim()
  for (const name of gateways.slice(1)) await start(name)
  const addresses = gateways.map((name): [string, string] => [
    `${name}:8080`,
    `127.0.0.1:${ports.get(name)}`,
  ])
  const nginx = await startNginx(({ port, folder }) => nginxConfiguration(port, folder, addresses))
  const caddy = await startCaddy(({ port }) => caddyConfiguration(port, addresses))
  return {
    gateways,
    urls: { nginx: nginx.url, caddy: caddy.url },
    key,
    nearKey,
    gateway: (name) => running.get(name)!,
    restart: async (name) => {
      const { stop_signal: signal = 'SIGTERM', stop_grace_period: grace = '10s' } =
        file.services[name]!
      const server = running.get(name)!
      server.kill(signal)
      const late = setTimeout(() => server.kill('SIGKILL'), secondsOf(grace) * 1000)
      const { code } = await server.ended
      clearTimeout(late)
      await start(name)
      return { code }
    },
    stop: async () => {
      for (const server of running.values()) server.kill('SIGKILL')
      await Promise.all([...running.values()].map(({ ended }) => ended))
      await Promise.all([nginx.stop(), caddy.stop(), stores.stop()])
    },
  }
}

/** Starts the stores of compose.yaml with its options, and returns their URLs as variables of a gateway. */
async function startStores({ services }: ComposeFile) {
  const variables: Record<string, string> = {}
  const settings = services['postgres']!.command!.flatMap((word, at, words) =>
    words[at - 1] === '-c' ? [word.split('=', 2) as [string, string]] : [],
  )
  const postgres = await startPostgres(Object.fromEntries(settings))
  variables['DATABASE_URL'] = await postgres.createDatabase()
  const redis = await startRedis(services['redis']!.command!.slice(1))
  variables['REDIS_URL'] = redis.url
  return {
    variables,
    stop: async () => {
      await Promise.all([postgres.stop(), redis.stop()])
    },
  }
}

/** The text of nginx.conf, with this machine's addresses and folders. */
export function nginxConfiguration(
  port: number,
  folder: string,
  addresses: readonly (readonly [string, string])[],
): string {
  const locations = join(folder, 'gateway-locations.conf')
  writeFileSync(locations, read('proxies/nginx-locations.conf'))
  return replaced(
    read('proxies/nginx.conf'),
    ['/tmp/', `${folder}/`],
    ['listen 8080;', `listen 127.0.0.1:${port};`],
    ['listen [::]:8080;', ''],
    ['/etc/nginx/gateway-locations.conf', locations],
    ['/etc/nginx/gateway.d', join(folder, 'gateway.d')],
    ...addresses,
  )
}

/** Writes nginx-tls.conf beside the result of `nginxConfiguration`, with the test certificate and another port. */
export function writeNginxTls(port: number, folder: string): void {
  const certificates = join(projectFolder, 'test/support/public-host')
  const text = replaced(
    read('proxies/nginx-tls.conf'),
    ['listen 8443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['listen [::]:8443 ssl;', ''],
    ['/etc/nginx/tls/certificate.pem', `${certificates}-certificate-for-tests.pem`],
    ['/etc/nginx/tls/key.pem', `${certificates}-key-for-tests.pem`],
    ['/etc/nginx/gateway-locations.conf', join(folder, 'gateway-locations.conf')],
  )
  mkdirSync(join(folder, 'gateway.d'))
  writeFileSync(join(folder, 'gateway.d/tls.conf'), text)
}

/** The text of the Caddyfile, with this machine's addresses. */
export function caddyConfiguration(
  port: number,
  addresses: readonly (readonly [string, string])[],
): string {
  return replaced(read('proxies/Caddyfile'), ...addresses, [
    ':8080 {',
    `http://127.0.0.1:${port} {\n\tbind 127.0.0.1`,
  ])
}

/** Replaces parts of a text; throws when a part is missing. */
export function replaced(text: string, ...pairs: (readonly [from: string, to: string])[]): string {
  for (const [from, to] of pairs) {
    if (!text.includes(from)) throw new Error(`The text does not contain ${from}.`)
    text = text.replaceAll(from, to)
  }
  return text
}
