import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../core/error.ts'

/** Content encrypted with AES-256-GCM: nonce, authentication tag and encrypted bytes. */
export type Encrypted = {
  /** Identifies the encryption key: the first eight hexadecimal digits of its SHA-256. */
  encryption_key_id: string
  ciphertext: Uint8Array
}

/**
 * Encrypts content of rows with a key that is not in the store. `context` identifies the row; content decrypts
 * only in the context in which it was encrypted.
 */
export type Encryption = ReturnType<typeof createEncryption>

type Options = {
  dataDir: string
  /** Keys in base64, separated by commas; the first encrypts. Undefined for the file in `dataDir`. */
  encryptionKey: string | undefined
  /** PostgreSQL may have several replicas, which have no file in common. */
  databaseUrl: string | undefined
}

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const algorithm = 'aes-256-gcm'
const keptKeys = 2

export function createEncryption({ dataDir, encryptionKey, databaseUrl }: Options) {
  const path = join(dataDir, 'gateway.key')
  const keys = encryptionKey === undefined ? keysOf(path) : () => keysIn(encryptionKey)
  /** `place` puts the complete file in its place in one step, so that no process reads half of it. */
  const writeKeys = (list: readonly Buffer[], place: (part: string) => void): void => {
    const part = `${path}.${process.pid}`
    const text = list.map((key) => `${key.toString('base64')}\n`).join('')
    try {
      writeFileSync(part, text, { mode: 0o600, flush: true })
      place(part)
    } finally {
      rmSync(part, { force: true })
    }
  }
  const keyToEncrypt = (): Buffer => {
    const [first] = keys()
    if (first !== undefined) return first
    if (databaseUrl !== undefined) throw noKey()
    writeKeys([randomBytes(keyBytes)], (part) => linkUnlessExists(part, path))
    return keys()[0]!
  }
  const decryptBytes = ({ encryption_key_id: id, ciphertext }: Encrypted, context: string) => {
    const key = keys().find((one) => idOf(one) === id)
    if (key === undefined) return undefined
    const [tagAt, textAt] = [nonceBytes, nonceBytes + tagBytes]
    try {
      const options = { authTagLength: tagBytes }
      const decipher = createDecipheriv(algorithm, key, ciphertext.subarray(0, tagAt), options)
      decipher.setAAD(Buffer.from(context)).setAuthTag(ciphertext.subarray(tagAt, textAt))
      return Buffer.concat([decipher.update(ciphertext.subarray(textAt)), decipher.final()])
    } catch {
      return undefined
    }
  }
  return {
    /** Throws `invalid_value` if there is no encryption key, and none may be created. */
    encrypt: (content: string | Uint8Array, context: string): Encrypted => {
      const key = keyToEncrypt()
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context))
      const plain = typeof content === 'string' ? Buffer.from(content) : content
      const bytes = [cipher.update(plain), cipher.final()]
      const ciphertext = Buffer.concat([nonce, cipher.getAuthTag(), ...bytes])
      return { encryption_key_id: idOf(key), ciphertext: new Uint8Array(ciphertext) }
    },
    /** Whether there is an encryption key, or one may be created. */
    canEncrypt: () => databaseUrl === undefined || keys().length > 0,
    /** The text; undefined if the encryption key is missing, or the row was changed. */
    decrypt: (encrypted: Encrypted, context: string) =>
      decryptBytes(encrypted, context)?.toString(),
    decryptBytes,
    /** Creates a new key in the file; the previous key is kept, so that older backups can be read. */
    replaceKey: () => {
      if (encryptionKey !== undefined) return
      if (databaseUrl !== undefined) throw noKey()
      const next = [randomBytes(keyBytes), ...keys()].slice(0, keptKeys)
      writeKeys(next, (part) => renameSync(part, path))
    },
  }
}

/** The keys in a file, which is read again when a command has replaced it. */
function keysOf(path: string): () => readonly Buffer[] {
  let last: { version: string; keys: readonly Buffer[] } | undefined
  return () => {
    const file = statSync(path, { throwIfNoEntry: false })
    const version = `${file?.ino} ${file?.mtimeMs}`
    if (last?.version !== version)
      last = { version, keys: file ? keysIn(readFileSync(path, 'utf8')) : [] }
    return last.keys
  }
}

function keysIn(text: string): readonly Buffer[] {
  return text.split(/[\s,]+/).flatMap((one) => (one === '' ? [] : Buffer.from(one, 'base64')))
}

function idOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}

/** Keeps the file that another process has just created. */
function linkUnlessExists(part: string, path: string): void {
  try {
    linkSync(part, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function noKey(): GatewayError {
  return new GatewayError(
    'invalid_value',
    'No key can be stored, since ENCRYPTION_KEY is not set. Set it on all replicas to the output of `openssl rand -base64 32`, and restart them.',
  )
}
