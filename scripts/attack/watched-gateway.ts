import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../free-port.ts'
import type { Pause } from './loop-watch.ts'
import { startUpstream } from './upstream.ts'

const main = join(import.meta.dirname, '../../src/main.ts')
const watch = join(import.meta.dirname, 'loop-watch.ts')

/** A gateway in a child process that loads loop-watch.ts. */
export type WatchedGateway = {
  url: string
  key: string
  /** The longest pause since the last call. Rejects when the process has ended. */
  longestPause(): Promise<Pause>
  stop(): Promise<void>
}

/** Models of this gateway. Their test vendor answers every chat with the same text. */
export const models = {
  chat: ['mock/any', 'claude-sonnet-4-6', 'gemini-3.5-flash'],
  image: 'mock/painter',
}

/** Starts a gateway with its own store and upstream; `mainFile` may belong to another version. */
export async function startWatchedGateway(mainFile = main): Promise<WatchedGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-stall-'))
  const upstream = await startUpstream()
  const port = await freePort()
  writeFileSync(join(folder, 'gateway.yaml'), settings(upstream.url))
  const env = {
    PATH: process.env['PATH'],
    PORT: String(port),
    DATA_DIR: join(folder, 'data'),
    CONFIG_FILE: join(folder, 'gateway.yaml'),
    LOG_LEVEL: 'fatal',
    MOCK_API_KEY: 'sk-mock-0123456789abcdef',
    ANTHROPIC_API_KEY: 'sk-ant-0123456789abcdef',
    ANTHROPIC_BASE_URL: upstream.url,
    GEMINI_API_KEY: 'AIza0123456789abcdef',
    GEMINI_BASE_URL: upstream.url,
  }
  const words = [
    join(dirname(mainFile), 'command-line.ts'),
    'keys',
    'create',
    '--mode',
    'live',
    '--name',
    'stall',
  ]
  const made = await promisify(execFile)(process.execPath, words, { cwd: folder, env })
  const child = spawn(process.execPath, ['--import', watch, mainFile], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const gone = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await untilReady(url)
  return {
    url,
    key: made.stdout.trim(),
    longestPause: async () => {
      const reported = once(child, 'message')
      child.send('report')
      const ended = gone.then(() => Promise.reject(new Error('The gateway has ended.')))
      // The message has this type: loop-watch.ts sends one Pause.
      const [pause] = (await Promise.race([reported, ended])) as [Pause]
      return pause
    },
    stop: async () => {
      child.kill('SIGKILL')
      await gone
      upstream.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const settings = (upstream: string) => `
providers:
  - id: mock
    kind: openai-compatible
    base_url: ${upstream}/v1
    api_key_env: MOCK_API_KEY
    models: "*"
limits:
  requests_per_minute: 1000000
`

async function untilReady(url: string): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const answer = await fetch(`${url}/ready`).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('The gateway was not ready within 60 s.')
}
