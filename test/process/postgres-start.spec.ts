import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder, projectFolder, type TemporaryFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'
import { startProgram } from '../support/program.ts'
import { sharedPostgres } from '../support/servers/postgres.ts'
import { until } from '../support/until.ts'

/** The error that PostgreSQL sends while it recovers (protocol-message-formats.html, ErrorResponse). */
const recovering = Buffer.from(
  'SFATAL\0VFATAL\0C57P03\0Mthe database system is in recovery mode\0\0',
)
const refusal = Buffer.concat([Buffer.from('E'), length(recovering.length + 4), recovering])

function length(bytes: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(bytes)
  return buffer
}

describe('a start whose PostgreSQL is in trouble', function () {
  let folder: TemporaryFolder
  let url: string
  /** Cleanup functions, which also run when a test fails. */
  const ends: (() => unknown)[] = []
  before(function () {
    programPath('postgres', this)
  })
  beforeEach(async () => {
    folder = makeFolder()
    url = await (await sharedPostgres()).createDatabase()
  })
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    folder.remove()
  })

  /** Starts a proxy in front of PostgreSQL; `at` returns how the proxy handles a connection, by number. */
  async function startProxy(at: (count: number) => 'pass' | 'recovers' | 'silent') {
    const databasePort = Number(new URL(url).port)
    const sockets = new Set<Socket>()
    const open = (socket: Socket) => {
      sockets.add(socket.on('error', () => undefined))
      return socket.on('close', () => sockets.delete(socket))
    }
    const cut = () => sockets.forEach((socket) => socket.destroy())
    let count = 0
    const server = createServer((socket) => {
      const what = at(++count)
      if (what === 'recovers') cut()
      open(socket)
      if (what === 'recovers') socket.once('data', () => socket.end(refusal))
      if (what !== 'pass') return
      const further = open(connect(databasePort, '127.0.0.1'))
      socket.pipe(further).pipe(socket)
      socket.on('close', () => further.destroy())
      further.on('close', () => socket.destroy())
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const address = new URL(url)
    address.port = String(port)
    ends.push(cut, () => server.close())
    return {
      variables: {
        DATABASE_URL: address.href,
        DATA_DIR: folder.path,
        PORT: '0',
        LOG_LEVEL: 'warn',
      },
      connections: () => count,
    }
  }
  const start = (variables: object, more: object = {}) => {
    const program = startProgram(process.execPath, [`${projectFolder}/src/main.ts`], {
      folder: folder.path,
      variables: { ...variables, ...more },
    })
    ends.unshift(() => (program.kill('SIGKILL'), program.ended))
    return program
  }

  for (const first of [1, 2, 3, 4]) {
    it(`waits for a server that begins recovery at connection ${first}`, async () => {
      let recoveredAt = Infinity
      const door = await startProxy((count) => {
        if (count < first || performance.now() > recoveredAt) return 'pass'
        if (recoveredAt === Infinity) recoveredAt = performance.now() + 1500
        return 'recovers'
      })
      const program = start(door.variables)
      await program.printed(/listening on/)
      expect(door.connections()).to.be.above(first)
      program.kill('SIGTERM')
      expect((await program.ended).code).to.equal(0)
    })
  }

  it('exits and names the server if recovery takes too long', async () => {
    const door = await startProxy((count) => (count < 3 ? 'pass' : 'recovers'))
    const file = join(folder.path, 'gateway.yaml')
    writeFileSync(file, 'limits: { database_start_wait_ms: 1000 }')
    const { code, stderr } = await start(door.variables, { CONFIG_FILE: file }).ended
    expect(code).to.equal(1)
    expect(stderr).to.match(
      /^The gateway cannot start: The database test_\w+ on 127\.0\.0\.1:\d+ cannot be opened: PostgreSQL is starting or stopping\. Wait/m,
    )
    expect(stderr).to.not.match(/^ +at /m)
  })

  it('reports within two seconds that it waits for a silent server', async () => {
    const door = await startProxy(() => 'silent')
    const program = start(door.variables)
    await until('the gateway connects', () => door.connections() > 0, 30_000)
    const from = performance.now()
    await until('the notice is printed', () =>
      program.stderr().includes('Waiting up to 30 s for the database'),
    )
    expect(performance.now() - from).to.be.below(2000)
  })
})
