import { expect } from 'chai'
import { setImmediate as turn } from 'node:timers/promises'
import { readAnnouncement, type Announcement } from '../../src/peers/announcement.ts'
import { type Channel, createRedisChannel } from '../../src/peers/channel.ts'
import { RedisDown } from '../../src/peers/redis-trouble.ts'

const announcements: Announcement[] = [
  { kind: 'keys_changed', keyIds: ['key_1', 'key_2'] },
  { kind: 'account_changed', accountId: 'acc_1' },
  { kind: 'sessions_changed' },
  { kind: 'settings_reloaded' },
  { kind: 'call_cancelled', keyId: 'key_1', id: 7 },
  { kind: 'call_cancelled', keyId: 'key_1', sessionId: 'session', id: '7' },
  { kind: 'log_level_set', keyId: 'key_1', sessionId: 'session', level: 'error' },
  { kind: 'tool_session_ended', keyId: 'key_1', sessionId: 'session' },
  {
    kind: 'tool_progress',
    accountId: 'acc_1',
    progress: { tool: 'chat', requestId: 'req_1', state: 'started', elapsedMs: 0 },
  },
]

const nonsense: unknown[] = [
  undefined,
  null,
  [],
  'keys_changed',
  {},
  { kind: '__proto__' },
  { kind: 'toString' },
  { kind: 'unknown' },
  { kind: 'keys_changed' },
  { kind: 'keys_changed', keyIds: 'key_1' },
  { kind: 'keys_changed', keyIds: [1] },
  { kind: 'keys_changed', keyIds: ['x'.repeat(300)] },
  { kind: 'keys_changed', keyIds: Array.from({ length: 1000 }, () => 'key_1') },
  { kind: 'account_changed', accountId: 1 },
  { kind: 'call_cancelled', keyId: 'key_1', id: {} },
  { kind: 'call_cancelled', keyId: 'key_1', id: null },
  { kind: 'call_cancelled', id: 1 },
  { kind: 'call_cancelled', keyId: 'key_1', sessionId: 1, id: 1 },
  { kind: 'log_level_set', keyId: 'key_1', level: 1 },
  { kind: 'tool_session_ended', sessionId: 'session' },
  { kind: 'tool_session_ended', keyId: 'key_1', sessionId: 'x'.repeat(300) },
  { kind: 'tool_progress', accountId: 'acc_1', progress: null },
  { kind: 'tool_progress', accountId: 'acc_1', progress: { tool: 'chat', state: 'started' } },
]

/** Collects the announcements of all kinds that a channel receives. */
function collectAnnouncements(channel: Channel): Announcement[] {
  const heard: Announcement[] = []
  const add = (one: Announcement) => void heard.push(one)
  channel.listen({
    keys_changed: add,
    account_changed: add,
    sessions_changed: add,
    settings_reloaded: add,
    call_cancelled: add,
    log_level_set: add,
    tool_session_ended: add,
    tool_progress: add,
  })
  return heard
}

/** A fake Redis in this process; `isDown` drops published messages. */
function fakeRedis() {
  const listeners: ((message: string) => void)[] = []
  const house = {
    isDown: false,
    say: (message: string) => {
      for (const listener of listeners) listener(message)
    },
    enter: () => ({
      publish: async (_: string, message: string) => {
        if (house.isDown) throw new RedisDown('Redis is not there.')
        house.say(message)
      },
      subscribe: (_: string, listener: (message: string) => void) => void listeners.push(listener),
    }),
  }
  return house
}

describe('announcements', () => {
  it('are parsed unchanged, and invalid messages are refused', () => {
    for (const one of announcements) {
      expect(readAnnouncement(JSON.parse(JSON.stringify(one)))).to.deep.equal(one)
    }
    for (const one of nonsense) expect(readAnnouncement(one)).to.equal(undefined)
  })

  it('reach all other processes of a Redis, but not the sender', async () => {
    const house = fakeRedis()
    const channels = [1, 2].map(() => createRedisChannel(house.enter()))
    const [own, other] = channels.map(collectAnnouncements)
    for (const one of announcements) channels[0]!.announce(one)
    for (const one of nonsense) house.say(JSON.stringify({ from: 'x', announcement: one }))
    for (const text of ['', 'not JSON', 'null', '1', '[]']) house.say(text)
    const filling = 'x'.repeat(100_000)
    house.say(JSON.stringify({ from: 'x', announcement: { kind: 'sessions_changed', filling } }))
    expect([own, other]).to.deep.equal([[], announcements])
  })

  it('are lost without an error while Redis is unavailable', async () => {
    const house = fakeRedis()
    const channels = [1, 2].map(() => createRedisChannel(house.enter()))
    const [, other] = channels.map(collectAnnouncements)
    house.isDown = true
    channels[0]!.announce({ kind: 'sessions_changed' })
    await turn()
    house.isDown = false
    channels[0]!.announce({ kind: 'settings_reloaded' })
    expect(other).to.deep.equal([{ kind: 'settings_reloaded' }])
  })
})
