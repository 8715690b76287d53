import { expect } from 'chai'
import {
  createAskRedis,
  leases,
  smallBytesMax,
  unusable,
  type RedisOperation,
} from '../../../src/policy/redis-cache/redis-operations.ts'
import { togetherInRedis, type Together } from '../../support/redis-caches.ts'
import { programPath } from '../../support/program-path.ts'

const ms = 5000

describe('a request of the shared cache to Redis', () => {
  let together: Together
  before(function () {
    programPath('redis-server', this)
  })
  afterEach(() => together.end())
  const start = async (words: readonly string[] = []) => {
    together = await togetherInRedis({ words })
    const connection = together.connection!
    let messages = 0
    const run: typeof connection.run = (...asked) => {
      messages++
      return connection.run(...asked)
    }
    const ask = createAskRedis({ run }, () => 2000)
    const askAll = (...operations: RedisOperation[]) => Promise.allSettled(operations.map(ask))
    return { connection, askAll, messages: () => messages }
  }
  const valueOf = (outcome: PromiseSettledResult<unknown> | undefined) =>
    outcome?.status === 'fulfilled' ? outcome.value : outcome?.reason

  it('contains all operations of one tick in order', async () => {
    const { askAll, messages } = await start()
    const [one, two] = [Buffer.from([0, 255, 10]), Buffer.from('two')]
    const answers = await askAll(
      { name: 'read', key: 'one' },
      { name: 'write', key: 'one', ms, bytes: one },
      { name: 'write', key: 'two', ms, bytes: two },
      { name: 'read', key: 'one' },
      { name: 'take', key: 'lease', ms, token: 'a' },
      { name: 'take', key: 'lease', ms, token: 'b' },
      { name: 'release', key: 'lease', token: 'b' },
      { name: 'unkept', key: 'lease', ms, token: 'a' },
      { name: 'take', key: 'lease', ms, token: 'b' },
      { name: 'read', key: 'two' },
    )
    expect(messages()).to.equal(1)
    const values = answers.map(valueOf)
    expect(values[0]).to.equal(0)
    const bytesAt = (index: number) => (values[index] as [Buffer, number])[0]
    expect([bytesAt(3), bytesAt(9)]).to.deep.equal([one, two])
    expect((values[3] as [Buffer, number])[1]).to.be.within(1, ms)
    const { isMine, isWithAnother, isUnkept } = leases
    expect([values[4], values[5], values[8]]).to.deep.equal([isMine, isWithAnother, isUnkept])
  })

  it('returns only the length of a large value', async () => {
    const { connection, askAll } = await start()
    const length = smallBytesMax + 1
    await connection.run((commands) => commands.set('large', Buffer.alloc(length)))
    const [large] = await askAll({ name: 'read', key: 'large' })
    expect(valueOf(large)).to.equal(length)
  })

  it('fails alone when its key has a value of another type', async () => {
    const { connection, askAll } = await start()
    await connection.run((commands) => commands.lPush('list', 'x'))
    const answers = await askAll(
      { name: 'read', key: 'list' },
      { name: 'release', key: 'list', token: 'a' },
      { name: 'write', key: 'one', ms, bytes: Buffer.from('x') },
    )
    expect(answers.map(valueOf)).to.deep.equal([unusable, null, 'OK'])
  })

  it('fails alone when Redis is full', async () => {
    const { askAll } = await start(['--maxmemory', '1', '--maxmemory-policy', 'noeviction'])
    const [read, write, take] = await askAll(
      { name: 'read', key: 'one' },
      { name: 'write', key: 'one', ms, bytes: Buffer.from('x') },
      { name: 'take', key: 'lease', ms, token: 'a' },
    )
    expect(valueOf(read)).to.equal(0)
    for (const failed of [write, take]) {
      expect(failed?.status).to.equal('rejected')
      expect(String(valueOf(failed))).to.match(/OOM/)
    }
  })
})
