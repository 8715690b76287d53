import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { freePort } from '../../scripts/free-port.ts'
import { childrenOf } from '../support/child-processes.ts'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { runProgram, startProgram } from '../support/program.ts'
import { printedKey, startServer, type ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { programPath } from '../support/program-path.ts'
import {
  loggedLines,
  workersOf,
  workerVariables,
  type LoggedLine,
} from '../support/worker-processes.ts'

describe('several workers', () => {
  let folder: TemporaryFolder
  let server: ServerProcess
  let variables: Record<string, string>
  before(function () {
    programPath('redis-server', this)
  })
  beforeEach(async () => {
    folder = makeFolder()
    // At a higher level, requests for /health and /ready have no line.
    variables = { ...(await workerVariables()), LOG_LEVEL: 'debug' }
  })
  afterEach(async () => {
    server?.kill('SIGKILL')
    await server?.ended
    folder.remove()
  })

  const start = async (more: Record<string, string> = {}) => {
    server = await startServer({ folder: folder.path, variables: { ...variables, ...more } })
    await until('both workers answer', () => workersOf(server).length === 2)
  }
  const health = async () => {
    const response = await fetch(`${server.url}/health`, { headers: { connection: 'close' } })
    return response.status
  }

  it('answer on one port, also on a port chosen by the system; the test key is printed once', async () => {
    await start()
    await until('both are logged', async () => {
      expect(await health()).to.equal(200)
      const answered = loggedLines(server).filter(({ msg }) => msg === 'request')
      return new Set(answered.map(({ worker }) => worker)).size === 2
    })
    expect(server.stdout().match(/is listening on/g)).to.have.length(1)
    expect(server.stdout().match(/mag_test_/g)!.length).to.be.above(0)
    const key = { authorization: `Bearer ${printedKey(server)}` }
    const models = await fetch(`${server.url}/v1/models`, { headers: key })
    expect(models.status).to.equal(200)
  })

  it('are ready when all of them listen', async () => {
    const port = String(await freePort())
    const program = startProgram(process.execPath, [`${projectFolder}/src/main.ts`], {
      folder: folder.path,
      variables: { ...variables, WORKERS: '4', PORT: port, DATA_DIR: join(folder.path, 'data') },
    })
    server = { ...program, url: `http://127.0.0.1:${port}` }
    const ready = () => fetch(`${server.url}/ready`).catch(() => undefined)
    await until('the gateway is ready', async () => (await ready())?.status === 200, 30_000)
    const timesOf = (is: (line: LoggedLine) => boolean) =>
      loggedLines(server)
        .filter(is)
        .map(({ time }) => String(time))
    const readyAt = () => timesOf(({ path, status }) => path === '/ready' && status === 200)
    await until(
      'the lines are logged',
      () => workersOf(server).length === 4 && readyAt().length > 0,
    )
    const lastAt = timesOf(({ msg }) => msg === 'worker is ready')
      .toSorted()
      .at(-1)!
    expect(readyAt().toSorted()[0]! >= lastAt).to.equal(true)
  })

  for (const afterMs of [0, 300, 600]) {
    it(`exit with a message when the primary is killed ${afterMs} ms after their start`, async () => {
      const DATABASE_URL = `postgres://gateway@127.0.0.1:${await freePort()}/none`
      const program = startProgram(process.execPath, [`${projectFolder}/src/main.ts`], {
        folder: folder.path,
        variables: { ...variables, DATA_DIR: folder.path, DATABASE_URL },
      })
      server = { ...program, url: '' }
      await until('a worker starts', () => childrenOf(program.processId).length > 0)
      await sleep(afterMs)
      program.kill('SIGKILL')
      // The worker shares the pipes of the primary, so the output ends when the worker ends.
      const { stderr } = await program.ended
      expect(stderr).to.match(/^The gateway cannot start: The primary process ended\. /m)
      expect(stderr).to.not.match(/^\s+at /m)
    })
  }

  it('are replaced when they die, and the others continue', async () => {
    await start()
    const [first, second] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    // Until the system has removed the killed worker, connections in the worker's queue are reset.
    await until('the worker has ended', () => !isRunning(first!.pid))
    for (let count = 0; count < 20; count++) expect(await health()).to.equal(200)
    const now = () => workersOf(server).map(({ pid }) => pid)
    // The primary logs the end of a worker when the system reports it.
    await until('a new worker has started', () => now().length === 2 && !now().includes(first!.pid))
    expect(now()).to.include(second!.pid)
    const line = loggedLines(server).find(({ msg }) => msg.startsWith('worker ended'))
    expect(line).to.include({ worker: first!.worker, pid: first!.pid, how: 'SIGKILL' })
  })

  it('exit when the primary is killed, and free its port', async () => {
    await start()
    const pids = workersOf(server).map(({ pid }) => pid)
    server.kill('SIGKILL')
    await until('all processes have ended', () => pids.every((pid) => !isRunning(pid)))
    expect(await health().catch(() => 'refused')).to.equal('refused')
    expect(loggedLines(server).filter(({ msg }) => msg.startsWith('primary ended'))).to.have.length(
      2,
    )
    expect(loggedLines(server).filter(({ msg }) => msg === 'stopped')).to.have.length(2)
  })

  it('have one page of metrics, whose counts outlive a worker', async () => {
    await start()
    const read = async (name: string) => {
      const headers = { connection: 'close' }
      const page = await (await fetch(`${server.url}/metrics`, { headers })).text()
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1])
    }
    for (let count = 0; count < 10; count++) expect(await health()).to.equal(200)
    const answered = 'gateway_request_duration_seconds_count{method="GET",status="200"}'
    const seen = answered.replaceAll(/[{}]/g, '\\$&')
    expect(await read(seen)).to.equal(10)
    // Any worker returns the sums of all workers.
    expect([await read(seen), await read(seen)]).to.deep.equal([11, 12])
    expect(await read('gateway_workers')).to.equal(2)
    // Workers share the store and the folder.
    expect(await read('gateway_store_up')).to.equal(1)
    const { bavail, bsize } = statfsSync(folder.path)
    expect(await read('gateway_data_dir_free_bytes')).to.be.below(1.5 * bavail * bsize)
    expect(await read('process_resident_memory_bytes')).to.be.above(200e6)
    const [first] = workersOf(server)
    process.kill(first!.pid, 'SIGKILL')
    await until('the worker has ended', () => !isRunning(first!.pid))
    await until('its end is counted', async () => (await read('gateway_workers_ended_total')) === 1)
    expect(await read(seen)).to.be.at.least(15)
  })

  it('omit a blocked worker from the metrics, and report that', async () => {
    await start()
    const [first] = workersOf(server)
    const unread = async () => {
      const options = { headers: { connection: 'close' }, signal: AbortSignal.timeout(3000) }
      // Ignores a timeout, because the system may give the connection to the blocked worker.
      const page = await fetch(`${server.url}/metrics`, options).catch(() => undefined)
      return /^gateway_workers_unread (\d)$/m.exec((await page?.text()) ?? '')?.[1]
    }
    expect(await unread()).to.equal('0')
    process.kill(first!.pid, 'SIGSTOP')
    try {
      await until('one worker is missing', async () => (await unread()) === '1')
    } finally {
      process.kill(first!.pid, 'SIGCONT')
    }
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`end with 0 on ${signal}, also when it is sent to all of them`, async () => {
      await start()
      for (const { pid } of workersOf(server)) process.kill(pid, signal)
      server.kill(signal)
      const { code, stderr } = await server.ended
      expect(code, stderr).to.equal(0)
      expect(loggedLines(server).filter(({ msg }) => msg === 'stopped')).to.have.length(3)
    })
  }

  it('end at once on a second signal, with calls in progress', async () => {
    await start()
    const pids = workersOf(server).map(({ pid }) => pid)
    const call = fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${printedKey(server)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        model: 'gpt-5-mini',
        messages: [{ role: 'user', content: 'sandbox:delay=20000' }],
      }),
    }).catch(() => 'cut')
    await until('a worker has accepted the request', () => isAnotherConnected(server.url))
    const askedAt = performance.now()
    server.kill('SIGTERM')
    await until('the signal is logged', () =>
      loggedLines(server).some(({ msg }) => msg.startsWith('draining')),
    )
    server.kill('SIGTERM')
    expect((await server.ended).code).to.equal(143)
    expect(await call).to.equal('cut')
    await until('all have ended', () => pids.every((pid) => !isRunning(pid)))
    expect(performance.now() - askedAt).to.be.below(5000)
  })

  it('are not started if the first cannot start, and its message is the last', async () => {
    const run = (more: Record<string, string>) =>
      runProgram('src/main.ts', [], {
        folder: folder.path,
        variables: { ...variables, PORT: '0', DATA_DIR: join(folder.path, 'data'), ...more },
      })
    const wrong = await run({ HOST: '192.0.2.1' })
    expect(wrong.code).to.equal(1)
    expect(wrong.stderr.trim().split('\n')).to.have.length(1)
    expect(wrong.stderr).to.match(/^The gateway cannot start: It cannot listen on 192\.0\.2\.1/)
    // The start must detect the used port, because workers can listen on a port that others use.
    await start({ DATA_DIR: join(folder.path, 'other') })
    const taken = await run({ PORT: new URL(server.url).port })
    expect(taken.code).to.equal(1)
    expect(taken.stderr).to.match(/^The gateway cannot start: Port \d+ on \S+ is already in use\. /)
    const alone = await run({ REDIS_URL: '' })
    expect(alone.code).to.equal(1)
    expect(alone.stderr).to.match(
      /^The gateway cannot start: WORKERS: 2 workers need Redis .+`apt-get install redis-server`.+REDIS_URL=redis:\/\/127\.0\.0\.1:6379, .+\.\n$/,
    )
    const settings = await run({ LOG_LEVEL: 'loud' })
    expect({ code: settings.code, stdout: settings.stdout }).to.deep.equal({ code: 78, stdout: '' })
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Whether a connection other than that of this request is open. */
async function isAnotherConnected(url: string): Promise<boolean> {
  const page = await fetch(`${url}/metrics`, { headers: { connection: 'close' } })
  return Number(/^gateway_connections (\d+)$/m.exec(await page.text())?.[1]) > 1
}
