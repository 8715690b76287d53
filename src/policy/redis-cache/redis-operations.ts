import { RESP_TYPES } from '@redis/client'
import { createScript } from '../../peers/redis-script.ts'
import { RedisDown } from '../../peers/redis-trouble.ts'
import { createTurnGroups } from '../../peers/turn-groups.ts'
import type { Redis } from '../../peers/redis.ts'

/** A Redis operation on cached answers or on the leases of the processes that make them. */
export type RedisOperation =
  /** Replies 0, `unusable`, the length of a large entry, or the bytes and their milliseconds. */
  | { name: 'read'; key: string }
  /** Writes at most `smallBytesMax` bytes. */
  | { name: 'write'; key: string; ms: number; bytes: Buffer }
  /** Takes the lease if it is free. The reply is one of `leases`. */
  | { name: 'take'; key: string; ms: number; token: string }
  /** Changes the lease; does nothing if another process has the lease. */
  | { name: 'renew' | 'unkept'; key: string; ms: number; token: string }
  | { name: 'release'; key: string; token: string }

type Reply = number | null | readonly [bytes: Buffer, leftMs: number]
/** Sends an operation; those of one turn share a message. Rejects on an error or a timeout. */
export type AskRedis = (operation: RedisOperation) => Promise<Reply>

/** Larger values would block Redis for other clients, so each is read by a separate command. */
export const smallBytesMax = 16_384
export const unusable = -1
export const leases = { isWithAnother: 0, isMine: 1, isUnkept: 2 } as const
/** Stored instead of a token: the answer could not be cached, so waiting processes stop waiting. */
const unkept = 'unkept'
/** The longest wait for a late reply: pending commands take memory. */
export const lateAnswerMs = 5000

/**
 * Runs operations in order: KEYS are their names, ARGV the operations and the bytes of all writes. An error
 * becomes the reply of its own operation.
 */
const runScript = createScript(`
local at = 1
local call = redis.pcall
local function has(key, token) return call('get', key) == token end
local carryOut = {
  read = function(key)
    local length = call('strlen', key)
    if type(length) ~= 'number' then return ${unusable} end
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

/** Returns the function that sends operations of the shared cache and its leases. */
export function createAskRedis(redis: Pick<Redis, 'run'>, timeoutMs: () => number): AskRedis {
  const exchange = async (operations: readonly RedisOperation[]) => {
    const words = wordsOf(operations)
    const answers = await redis.run(
      (commands) => runScript(commands.withTypeMapping(asBuffers), words),
      lateAnswerMs,
    )
    // The script returns one reply for each operation.
    return answers as (Reply | Error)[]
  }
  const ask = createTurnGroups({ exchange, timeoutMs, onFailure: () => undefined })
  /** A late reply to a write still counts, because no client waits for it. */
  const askForLong = (operation: RedisOperation) =>
    new Promise<Reply | Error | undefined>((resolve) => {
      void ask(operation, resolve).then((answer) => answer !== undefined && resolve(answer))
    })
  return async (operation) => {
    const answer = await (operation.name === 'write' ? askForLong : ask)(operation)
    if (answer === undefined) throw new RedisDown('It does not answer in time.')
    // Reported like every error reply of Redis.
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
