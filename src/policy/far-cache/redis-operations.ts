import { RESP_TYPES } from '@redis/client'
import { createScript } from '../../peers/redis-script.ts'
import { RedisDown } from '../../peers/redis-trouble.ts'
import { createTurnGroups } from '../../peers/turn-groups.ts'
import type { Redis } from '../../peers/redis.ts'

/** What is asked of Redis for answers and for the leases of those who make them. */
export type RedisOperation =
  /** Answered with 0 for nothing, `strange`, the length of what is large, or the bytes and what they last. */
  | { name: 'read'; key: string }
  /** Of no more than `smallBytesMax`. */
  | { name: 'write'; key: string; ms: number; bytes: Buffer }
  /** Takes the lease that nobody has. Answered with one of `leases`. */
  | { name: 'take'; key: string; ms: number; token: string }
  /** These do nothing when another has the lease. */
  | { name: 'renew' | 'unkept'; key: string; ms: number; token: string }
  | { name: 'release'; key: string; token: string }

type Reply = number | null | readonly [bytes: Buffer, leftMs: number]
/** Asks Redis; what is asked in one turn of the event loop is one message. Rejects when it fails, or is late. */
export type AskRedis = (operation: RedisOperation) => Promise<Reply>

/** More would keep Redis busy for others: they are asked for by a command of their own. */
export const smallBytesMax = 16_384
export const strange = -1
export const leases = { isWithAnother: 0, isMine: 1, isUnkept: 2 } as const
/** In the place of a token: who waits does so no longer, since what was made cannot be kept. */
const unkept = 'unkept'
/** What is not answered by then fills memory; a connection that hangs is given up long before. */
export const lateAnswerMs = 5000

/**
 * Carries out operations one after the other: KEYS are their names, ARGV the operations and the bytes
 * of all writes. An error is the answer of its operation alone.
 */
const runScript = createScript(`
local at = 1
local call = redis.pcall
local function has(key, token) return call('get', key) == token end
local carryOut = {
  read = function(key)
    local length = call('strlen', key)
    if type(length) ~= 'number' then return ${strange} end
    if length == 0 or length > ${smallBytesMax} then return length end
    return { call('get', key), call('pttl', key) }
  end,
  write = function(key, ms, length)
    local bytes = string.sub(ARGV[2], at, at + length - 1)
    at = at + length
    return call('set', key, bytes, 'px', ms)
  end,
  take = function(key, ms, token)
    local taken = call('set', key, token, 'px', ms, 'nx')
    if taken then return taken.err and taken or ${leases.isMine} end
    local held = call('get', key)
    if held == '${unkept}' then return ${leases.isUnkept} end
    return held == token and ${leases.isMine} or ${leases.isWithAnother}
  end,
  renew = function(key, ms, token) return has(key, token) and call('pexpire', key, ms) end,
  unkept = function(key, ms, token) return has(key, token) and call('set', key, '${unkept}', 'px', ms) end,
  release = function(key, ms, token) return has(key, token) and call('del', key) end,
}
local answers = {}
for index, operation in ipairs(cjson.decode(ARGV[1])) do
  answers[index] = carryOut[operation[1]](KEYS[index], operation[2], operation[3])
end
return answers`)

const asBuffers = { [RESP_TYPES.BLOB_STRING]: Buffer } as const

/** Asks for what the far cache and its leases need. */
export function createAskRedis(redis: Pick<Redis, 'run'>, timeoutMs: () => number): AskRedis {
  const exchange = async (operations: readonly RedisOperation[]) => {
    const words = wordsOf(operations)
    const answers = await redis.run(
      (commands) => runScript(commands.withTypeMapping(asBuffers), words),
      lateAnswerMs,
    )
    // What the script returns.
    return answers as (Reply | Error)[]
  }
  const { ask } = createTurnGroups({ exchange, timeoutMs, onFailure: () => undefined })
  /** A write is waited for: nobody is kept waiting by it. */
  const askForLong = (operation: RedisOperation) =>
    new Promise<Reply | Error | undefined>((resolve) => {
      void ask(operation, resolve).then((answer) => answer !== undefined && resolve(answer))
    })
  return async (operation) => {
    const answer = await (operation.name === 'write' ? askForLong : ask)(operation)
    if (answer === undefined) throw new RedisDown('It does not answer in time.')
    // Told like each refusal.
    if (answer instanceof Error) return redis.run(() => Promise.reject(answer))
    return answer
  }
}

function wordsOf(operations: readonly RedisOperation[]) {
  const pieces: Buffer[] = []
  const lists = operations.map((operation) => {
    const { name } = operation
    if (name === 'read') return [name]
    if (name === 'release') return [name, 0, operation.token]
    if (name !== 'write') return [name, operation.ms, operation.token]
    pieces.push(operation.bytes)
    return [name, operation.ms, operation.bytes.length]
  })
  const keys = operations.map(({ key }) => key)
  const bytes = pieces.length === 0 ? '' : Buffer.concat(pieces)
  return { keys, arguments: [JSON.stringify(lists), bytes] }
}
