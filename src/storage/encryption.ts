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

type Key = { id: string; bytes: Buffer }

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const algorithm = 'aes-256-gcm'
const keptKeys = 2

export function createEncryption({ dataDir, encryptionKey, databaseUrl }: Options) {
  const path = join(dataDir, 'gateway.key')
  const given = encryptionKey === undefined ? undefined : keysIn(encryptionKey)
  const keys = given === undefined ? keysOf(path) : () => given
  /** `place` puts the complete file in its place in one step, so that no process reads half of it. */
  const writeKeys = (list: readonly Key[], place: (part: string) => void): void => {
    const part = `${path}.${process.pid}`
    const text = list.map(({ bytes }) => `${bytes.toString('base64')}\n`).join('')
    try {
      writeFileSync(part, text, { mode: 0o600, flush: true })
      place(part)
    } finally {
      rmSync(part, { force: true })
    }
  }
  const keyToEncrypt = (): Key => {
    const [first] = keys()
    if (first !== undefined) return first
    if (databaseUrl !== undefined) throw noKey()
    writeKeys([newKey()], (part) => linkUnlessExists(part, path))
    return keys()[0]!
  }
  const decryptBytes = ({ encryption_key_id: id, ciphertext }: Encrypted, context: string) => {
    const key = keys().find((one) => one.id === id)
    if (key === undefined) return undefined
    const [tagAt, textAt] = [nonceBytes, nonceBytes + tagBytes]
    try {
      const options = { authTagLength: tagBytes }
      const decipher = createDecipheriv(
        algorithm,
        key.bytes,
        ciphertext.subarray(0, tagAt),
        options,
      )
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
      const cipher = createCipheriv(algorithm, key.bytes, nonce).setAAD(Buffer.from(context))
      const plain = typeof content === 'string' ? Buffer.from(content) : content
      const bytes = [cipher.update(plain), cipher.final()]
      const ciphertext = Buffer.concat([nonce, cipher.getAuthTag(), ...bytes])
      return { encryption_key_id: key.id, ciphertext: new Uint8Array(ciphertext) }
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
      const next = [newKey(), ...keys()].slice(0, keptKeys)
      writeKeys(next, (part) => renameSync(part, path))
    },
  }
}

/** The keys in a file, which is read again when a command has replaced it. */
function keysOf(path: string): () => readonly Key[] {
  let last: { version: string; keys: readonly Key[] } | undefined
  return () => {
    const file = statSync(path, { throwIfNoEntry: false })
    const version = `${file?.ino} ${file?.mtimeMs}`
    if (last?.version !== version)
      last = { version, keys: file ? keysIn(readFileSync(path, 'utf8')) : [] }
    return last.keys
  }
}

function keysIn(text: string): readonly Key[] {
  const texts = text.split(/[\s,]+/).filter((one) => one !== '')
  return texts.map((one) => keyFrom(Buffer.from(one, 'base64')))
}

function keyFrom(bytes: Buffer): Key {
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 8), bytes }
}

const newKey = () => keyFrom(randomBytes(keyBytes))

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
