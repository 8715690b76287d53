import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../core/error.ts'
import { createQueue } from '../bytes/queue.ts'

type Parameters = { memoryKib: number; passes: number; lanes: number }

/** RFC 9106 section 4, the second recommended option, with 64 MiB of memory. */
const recommended = { passes: 3, lanes: 4 }
/** Maximum of concurrent hashes: each takes 64 MiB and a core. */
const hashesConcurrentMax = 2
/** Maximum of waiting hashes: a longer queue would make people wait too long. */
const hashesWaitingMax = 64
const saltBytes = 16
const tagBytes = 32
const phcForm = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

export type Passwords = ReturnType<typeof createPasswords>

/** Hashes passwords with argon2id (RFC 9106), two at a time, since each takes 64 MiB. */
export function createPasswords({ passwordMemoryKib: memoryKib }: { passwordMemoryKib: number }) {
  const current = { ...recommended, memoryKib }
  const queue = createQueue({
    concurrentMax: hashesConcurrentMax,
    waitingMax: hashesWaitingMax,
    full: overloaded,
  })
  const tagOf = (password: string, salt: Buffer, parameters: Parameters) =>
    queue.run(() => compute(password, salt, parameters))
  return {
    /** The hash of a password as a PHC string. Throws `overloaded` when the queue is full. */
    hash: async (password: string) => {
      const salt = randomBytes(saltBytes)
      return phcOf(current, salt, await tagOf(password, salt, current))
    },
    /**
     * Whether a password matches a hash; false after the same time without one. Throws `overloaded`.
     */
    matches: async (password: string, stored: string | undefined) => {
      const phc = stored === undefined ? undefined : readPhc(stored)
      const salt = phc?.salt ?? randomBytes(saltBytes)
      const tag = await tagOf(password, salt, phc?.parameters ?? current)
      return phc !== undefined && phc.tag.length === tag.length && timingSafeEqual(phc.tag, tag)
    },
    /** Whether a hash was made with parameters that differ from the current ones. */
    isOutdated: (stored: string) => !stored.startsWith(`${headOf(current)}$`),
  }
}

const charactersMin = 8
const bytesMax = 1024

/**
 * Rejects a password that is too short, too long, very common, or equal to the e-mail. No kinds of
 * characters are required (NIST SP 800-63B section 3.1.1). Throws `invalid_value`.
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
    refuse('must not be the e-mail. Choose another password.')
  }
  const isRepeated = new Set(plain).size === 1
  if (isRepeated || guessablePasswords.has(plain)) {
    refuse('is easy to guess. Choose another password.')
  }
}

/** The hash of a person without a password; no password has a tag of zeros. */
export const noPassword = phcOf(
  { ...recommended, memoryKib: 65_536 },
  Buffer.alloc(saltBytes),
  Buffer.alloc(tagBytes),
)

/** Normalizes an e-mail: NFKC, lower case. */
export function plainEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase()
}

/** Two keyboards may encode the same characters differently; NFKC makes them equal. */
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

/** PHC string format, which stores the parameters with each hash. */
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
  if (found === null) throw new Error('A stored password hash is not an argon2id PHC string.')
  const [, memory, passes, lanes, salt = '', tag = ''] = found
  return {
    parameters: { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function overloaded(): GatewayError {
  const text = 'Too many sign-ins are in progress. Try again in a moment.'
  return new GatewayError('overloaded', text, { retryAfterSeconds: 1 })
}

/** The commonest passwords of eight or more characters, which attackers try first. */
const guessablePasswords: ReadonlySet<string> = new Set(
  `
  password passw0rd p@ssword p@ssw0rd pa$$word pa$$w0rd password1 password12 password123
  password1234 password! passwords mypassword changeme changeit letmein1 letmein123 welcome1
  welcome123 welcome! default1 administrator admin123 admin1234 adminadmin administrator1
  rootroot root1234 toor1234 qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwer1234
  1qaz2wsx 1q2w3e4r 1q2w3e4r5t q1w2e3r4 q1w2e3r4t5 zaq12wsx zaq1zaq1 asdfghjk asdfghjkl
  asdf1234 zxcvbnm1 zxcvbnm, 12345678 123456789 1234567890 12345679 123123123 12341234
  11223344 87654321 987654321 0987654321 01234567 123456789a 12345678a a1234567 a12345678
  abcd1234 abcdefgh abc12345 abcabcabc 1234abcd 1234qwer aaaa1111 147258369 159753456
  iloveyou iloveyou1 iloveyou2 ilovegod sunshine sunshine1 princess princess1 football
  football1 baseball baseball1 basketball superman superman1 batman123 spiderman starwars
  pokemon1 pokemon123 michael1 jennifer jessica1 michelle charlie1 jordan23 liverpool
  liverpool1 chelsea1 arsenal1 manchester barcelona realmadrid trustno1 whatever whatever1
  computer computer1 internet internet1 samsung1 samsung123 google123 facebook facebook1
  dragon123 monkey123 shadow123 master123 secret123 secret12 hello123 hello1234 hellohello
  test1234 testtest test12345 testing1 testing123 temp1234 guest123 user1234 username
  access14 lovelove babygirl babygirl1 butterfly chocolate blink182 corvette mercedes
  mustang1 ferrari1 elephant dolphin1 rainbow1 blessed1 november december september
  summer2024 summer2025 summer2026 winter2024 winter2025 winter2026 spring2026 autumn2026
  gateway1 gateway123 openai123 chatgpt1 chatgpt123 correcthorsebatterystaple
  `
    .trim()
    .split(/\s+/),
)
