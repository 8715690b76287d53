import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'
import { bothCores, measuredCore, type Child, type Children } from './children.ts'
import type { Stores } from './stores.ts'
import { fillHistory } from './usage-history.ts'

const project = join(import.meta.dirname, '../..')
const startTimeoutMs = 30_000

const require = createRequire(import.meta.url)

/** Flags of Node and environment variables with which `npm start` of a checkout starts the gateway. */
export const startOf = (
  project: string,
): { flags: string[]; variables: Record<string, string> } => {
  const launcher = join(project, 'bin/model-access-gateway.cjs')
  // The launcher exports them in this form.
  if (existsSync(launcher)) return require(launcher) as ReturnType<typeof startOf>
  // An earlier checkout has them in its start script.
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const variables = scripts.start.matchAll(/\b(MALLOC_\w+)=(\S+)/g)
  return {
    flags: scripts.start.match(/--\S+/g) ?? [],
    variables: Object.fromEntries([...variables].map(([, name = '', value = '']) => [name, value])),
  }
}

/** Flags and variables of this checkout's start script. */
export const start = startOf(project)

/** Models of the catalog that are routed to the mock, which chooses its answer by their name. */
export const routedModels: Record<string, string> = {
  'anthropic-stream-200': 'claude-sonnet-4-6',
  'anthropic-burst-200': 'claude-haiku-4-5',
  'gemini-stream-200': 'gemini-3.5-flash',
  'gemini-burst-200': 'gemini-3.6-flash',
  'gemini-image-1536k': 'gemini-3-pro-image',
  'gemini-image-8m': 'gemini-3-pro-image-preview',
  'dashscope-image-1536k': 'alibaba/qwen-image-3.0',
  'dashscope-image-8m': 'alibaba/qwen-image-3.0-pro',
  'ark-image-1536k': 'bytedance/seedream-4-0',
  'ark-image-8m': 'bytedance/seedream-5-0-pro',
  'openai-image-64k': 'gpt-image-2',
  'openai-plain': 'gpt-5-mini',
}
const providers: Record<string, string> = {
  gemini: 'google',
  dashscope: 'alibaba',
  ark: 'bytedance',
}
const routes = Object.entries(routedModels).map(([name, model]) => {
  const [wire = '', ...rest] = name.split('-')
  return `  ${model}: [${providers[wire] ?? wire}/${rest.join('-')}]`
})

const configuration = (upstreamPort: number, more: string): string => `
providers:
  - id: mock
    kind: openai-compatible
    base_url: http://127.0.0.1:${upstreamPort}/v1
    api_key_env: MOCK_API_KEY
    models: "*"
routes:
${routes.join('\n')}
limits:
  requests_per_minute: 100000000
${more}`
const manyStreams = `  event_streams_per_key_max: 10000
  event_streams_per_account_max: 10000
`
const noMemory = `  cache_bytes_max: 0
  cache_ttl_seconds: 3600
`

/** Starts a gateway with a new store, and creates a key. */
export const startGateway = async ({
  children,
  folder,
  upstreamPort,
  limited = false,
  signsIn = false,
  historyRows = 0,
  stores: { databaseUrl, redisUrl } = {},
  remembers = true,
  workers = 1,
  onBothCores = false,
  base,
}: {
  children: Children
  folder: string
  upstreamPort: number
  /** The key has all limits and a budget. */
  limited?: boolean
  /** The caller sends an OAuth access token instead of a key. */
  signsIn?: boolean
  historyRows?: number
  /** PostgreSQL and Redis; by default SQLite and the process's memory. */
  stores?: Stores
  /** Whether answers are cached in the memory of the process. */
  remembers?: boolean
  workers?: number
  /** Whether the driver and the mock share their core with the gateway. */
  onBothCores?: boolean
  /** The folder of another checkout to run instead. */
  base?: string | undefined
}): Promise<{ child: Child; port: number; key: string }> => {
  const sources = join(base ?? project, 'src')
  const { flags, variables } = startOf(base ?? project)
  const cwd = mkdtempSync(join(folder, 'gateway-'))
  const port = await freePort()
  // Another checkout may not have these settings.
  const more = base === undefined ? manyStreams : ''
  writeFileSync(
    join(cwd, 'gateway.yaml'),
    configuration(upstreamPort, remembers ? more : `${more}${noMemory}`),
  )
  const env = {
    ...variables,
    ...environment({ cwd, port, upstreamPort, sources }),
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ...(workers > 1 && { WORKERS: String(workers) }),
  }
  const place = { cwd, env, script: join(sources, 'command-line.ts') }
  const key = signsIn ? await createClient(place) : await createKey(place, limited)
  if (historyRows > 0) fillHistory(env.DATA_DIR, historyRows)
  const child = children.start(join(sources, 'main.ts'), {
    core: onBothCores ? bothCores : measuredCore,
    flags,
    cwd,
    env,
    logFile: join(cwd, 'stderr.log'),
  })
  await untilReady(port)
  return { child, port, key: signsIn ? await tokenFor(port, key) : key }
}

/** No word of an answer contains it: the gateway removes its vendors' keys from answers. */
const vendorKey = 'sk-0123456789abcdef0123456789abcdef'

type Places = { cwd: string; port: number; upstreamPort: number; sources: string }

const environment = ({ cwd, port, upstreamPort, sources }: Places) => {
  const upstream = `http://127.0.0.1:${upstreamPort}`
  return {
    NODE_COMPILE_CACHE: join(sources, '../node_modules/.cache/node'),
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: join(cwd, 'data'),
    CONFIG_FILE: join(cwd, 'gateway.yaml'),
    MOCK_API_KEY: vendorKey,
    ...vendorVariables('ANTHROPIC', upstream),
    ...vendorVariables('GEMINI', upstream),
    ...vendorVariables('DASHSCOPE', upstream),
    ...vendorVariables('ARK', `${upstream}/api/v3`),
    ...vendorVariables('OPENAI', `${upstream}/v1`),
  }
}

const vendorVariables = (name: string, baseUrl: string): NodeJS.ProcessEnv => ({
  [`${name}_API_KEY`]: vendorKey,
  [`${name}_BASE_URL`]: baseUrl,
})

/** Every limit is set, each too high to refuse a call. */
const allowance = [
  'requests-per-minute',
  'tokens-per-minute',
  'images-per-minute',
  'concurrency',
].flatMap((limit) => [`--${limit}`, '1000000000'])

type Place = { cwd: string; env: NodeJS.ProcessEnv; script: string }

const createKey = async (place: Place, limited: boolean): Promise<string> => {
  const named = ['--name', 'bench']
  const create = ['keys', 'create', '--mode', 'live', ...named]
  if (!limited) return command(place, create)
  const budget = ['--budget-usd', '1000000', '--budget-period', 'month']
  const most = [...allowance, ...budget]
  const account = await command(place, ['accounts', 'create', ...named, ...most, '--json'])
  // With `--json` the command prints the account.
  const { id } = JSON.parse(account) as { id: string }
  return command(place, [...create, ...most, '--account', id, '--scopes', 'inference'])
}

/** The client's credentials for HTTP Basic authentication. */
const createClient = async (place: Place): Promise<string> => {
  const words = [
    'keys',
    'create',
    '--kind',
    'client',
    '--mode',
    'live',
    '--name',
    'bench',
    '--json',
  ]
  // With `--json` the command prints the client.
  const made = JSON.parse(await command(place, words)) as Record<string, string>
  return `Basic ${btoa(`${made['client_id']}:${made['client_secret']}`)}`
}

const tokenFor = async (port: number, authorization: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/token`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token?: string }
  if (token === undefined) throw new Error('The gateway has given no token.')
  return token
}

const command = async ({ script, ...place }: Place, words: string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...words], {
    ...place,
    timeout: startTimeoutMs,
  })
  return stdout.trim()
}

const untilReady = async (port: number): Promise<void> => {
  const giveUpAt = performance.now() + startTimeoutMs
  while (performance.now() < giveUpAt) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.status === 200) return
    await sleep(50)
  }
  throw new Error(`The gateway was not ready within ${startTimeoutMs} ms.`)
}
