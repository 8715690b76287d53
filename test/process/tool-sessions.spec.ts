import { prepareGateways, type GatewayProcesses } from '../support/gateway-processes.ts'
import { connectSession, type ClientSession } from '../support/mcp-client.ts'
import { countLeft } from '../support/metric.ts'
import { programPath } from '../support/program-path.ts'
import { cancelInTurn } from '../support/same-ids.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { until } from '../support/until.ts'
import { workersOf, workerVariables } from '../support/worker-processes.ts'

const rounds = 8

describe('two tool clients with one key and the same request ids', () => {
  let gateways: GatewayProcesses | undefined
  afterEach(() => gateways?.stop())

  /** Sends each message on a new connection, to the servers in turn. */
  const connect = (servers: readonly ServerProcess[], key: string) => {
    let sent = 0
    return connectSession(servers[0]!, key, {
      fetch: (_url, init) => {
        const headers = new Headers(init?.headers)
        headers.set('connection', 'close')
        const { url } = servers[sent++ % servers.length]!
        return fetch(`${url}/mcp`, { ...init, headers })
      },
    })
  }
  const cancelOften = async (
    { upstream, createKey }: GatewayProcesses,
    servers: ServerProcess[],
  ) => {
    const key = await createKey('x')
    const sessions: [ClientSession, ClientSession] = [
      await connect(servers, key),
      await connect(servers, key),
    ]
    const measured = servers.map(({ url }) => ({ fetch: (path: string) => fetch(url + path) }))
    const left = await countLeft(...measured)
    for (let round = 0; round < rounds; round++) {
      await cancelInTurn(sessions, { left, upstream, round })
    }
    for (const { client } of sessions) await client.close()
  }

  it('cancel only their own calls over two workers', async function () {
    programPath('redis-server', this)
    gateways = await prepareGateways({ variables: await workerVariables() })
    const server = await gateways.start()
    await until('both workers answer', () => workersOf(server).length === 2)
    await cancelOften(gateways, [server])
  })

  it('cancel only their own calls over two replicas', async function () {
    programPath('redis-server', this)
    programPath('postgres', this)
    const variables = { ...(await workerVariables()), WORKERS: '1' }
    gateways = await prepareGateways({ store: 'postgres', variables })
    await cancelOften(gateways, [await gateways.start('a'), await gateways.start('b')])
  })
})
