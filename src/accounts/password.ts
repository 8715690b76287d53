import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../core/error.ts'
import { createQueue } from '../core/resilience/queue.ts'
import { guessablePasswords } from './guessable-passwords.ts'

export type Passwords = {
  /** The hash of a password as a PHC string. Throws `overloaded` when too many wait. */
  hash(password: string): Promise<string>
  /**
   * Whether a password is the one that was hashed. Without a hash it is not, which takes as long.
   * Throws `overloaded`.
   */
  matches(password: string, stored: string | undefined): Promise<boolean>
  /** Whether a hash was made with other parameters than those of today. */
  isOutdated(stored: string): boolean
}

type Parameters = { memoryKib: number; passes: number; lanes: number }

/** RFC 9106 section 4, the second recommended option. */
const recommended = { memoryKib: 65_536, passes: 3, lanes: 4 }
/** Each hash takes 64 MiB and a core. */
const hashesConcurrentMax = 2
/** Further ones would exceed the time that a person waits. */
const hashesWaitingMax = 64
const saltBytes = 16
const tagBytes = 32
const phcForm = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** Hashes passwords with argon2id (RFC 9106), few at a time: each takes much memory. */
export function createPasswords({
  passwordMemoryKib: memoryKib = recommended.memoryKib,
}: {
  passwordMemoryKib?: number
}): Passwords {
  const current = { ...recommended, memoryKib }
  const queue = createQueue({
    concurrentMax: hashesConcurrentMax,
    waitingMax: hashesWaitingMax,
    full: overloaded,
  })
  const tagOf = (password: string, salt: Buffer, parameters: Parameters) =>
    queue(() => compute(password, salt, parameters))
  return {
    hash: async (password) => {
      const salt = randomBytes(saltBytes)
      return phcOf(current, salt, await tagOf(password, salt, current))
    },
    matches: async (password, stored) => {
      const known = stored === undefined ? undefined : readPhc(stored)
      const salt = known?.salt ?? randomBytes(saltBytes)
      const tag = await tagOf(password, salt, known?.parameters ?? current)
      return (
        known !== undefined && known.tag.length === tag.length && timingSafeEqual(known.tag, tag)
      )
    },
    isOutdated: (stored) => !stored.startsWith(`${headOf(current)}$`),
  }
}

const charactersMin = 8
const bytesMax = 1024

/**
 * Refuses a password that is short, long, among the commonest, or the e-mail itself; nothing is
 * asked of its characters (NIST SP 800-63B section 3.1.1). Throws `invalid_value`.
 */
export function assertStrong(password: string, email: string, param: string): void {
  const text = normalised(password)
  const refuse = (why: string) => {
    throw new GatewayError('invalid_value', `'${param}' ${why}`, { param })
  }
  if (Array.from(text).length < charactersMin) {
    refuse(`must have at least ${charactersMin} characters.`)
  }
  if (Buffer.byteLength(text) > bytesMax) refuse(`must have at most ${bytesMax} bytes.`)
  const plain = text.toLowerCase()
  if (plain === email || plain === email.split('@', 1)[0]) {
    refuse('must not be the e-mail. Choose another one.')
  }
  const isRepeated = new Set(plain).size === 1
  if (isRepeated || guessablePasswords.has(plain)) {
    refuse('is among the first that are guessed. Choose another one.')
  }
}

/** The same e-mail whatever the letter case that it is written in. */
export function plainEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase()
}

/** One password typed on two keyboards is one text. */
function normalised(password: string): string {
  return password.normalize('NFKC')
}

function compute(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  const { memoryKib: memory, passes, lanes: parallelism } = parameters
  const message = Buffer.from(normalised(password))
  return new Promise((resolve, reject) => {
    const options = { message, nonce: salt, memory, passes, parallelism, tagLength: tagBytes }
    argon2('argon2id', options, (error, tag) => {
      if (error === null) resolve(tag)
      else reject(error)
    })
  })
}

/** Password Hashing Competition string format, so that parameters may change. */
function phcOf(parameters: Parameters, salt: Buffer, tag: Buffer): string {
  return [headOf(parameters), ...[salt, tag].map(unpadded)].join('$')
}

function headOf({ memoryKib, passes, lanes }: Parameters): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function readPhc(text: string) {
  const found = phcForm.exec(text)
  if (found === null) throw new Error('A stored password hash is no argon2id PHC string.')
  const [, memory, passes, lanes, salt = '', tag = ''] = found
  return {
    parameters: { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function overloaded(): GatewayError {
  const text = 'Too many people sign in at the moment. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}
