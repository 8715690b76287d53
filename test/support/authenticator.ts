import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { components } from '../../generated/types.ts'

type Schemas = components['schemas']
type Options = Pick<Schemas['PasskeyOptions'], 'public_key'>

/** What an answer has that differs from an honest one. */
export type Lie = {
  origin?: string
  rpId?: string
  challenge?: string
  counter?: number
  userHandle?: string
  isVerified?: boolean
  type?: string
}

export type Authenticator = ReturnType<typeof createAuthenticator>

/**
 * An authenticator in software, with one credential, in a browser at `origin`.
 *
 * @example
 * const authenticator = createAuthenticator('http://localhost:8080')
 * const credential = authenticator.create(options)
 */
export function createAuthenticator(origin: string, start: { counter?: number } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(16)
  let { counter = 0 } = start
  let user = ''
  const clientData = (type: string, { public_key: asked }: Options, lie: Lie) => {
    const challenge = lie.challenge ?? asked['challenge']
    const data = { type: lie.type ?? type, challenge, origin: lie.origin ?? origin }
    return Buffer.from(JSON.stringify({ ...data, crossOrigin: false }))
  }
  const head = (flags: number, lie: Lie) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(lie.counter ?? counter)
    const verified = lie.isVerified === false ? 0 : 4
    const rpId = lie.rpId ?? new URL(origin).hostname
    return Buffer.concat([sha256(rpId), Buffer.of(flags | 1 | verified), count])
  }
  const common = { id: text(id), rawId: text(id), type: 'public-key' as const }
  return {
    id: text(id),
    /** Answers `navigator.credentials.create()`. */
    create: (options: Options, lie: Lie = {}): Schemas['PasskeyAttestation'] => {
      user = (options.public_key['user'] as { id: string }).id
      const key = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ])
      const made = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, key])
      const data = Buffer.concat([head(0x40, lie), made])
      const attestationObject = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.of(0x58, data.length),
        data,
      ])
      const clientDataJSON = text(clientData('webauthn.create', options, lie))
      const response = { clientDataJSON, attestationObject: text(attestationObject) }
      return { ...common, response: { ...response, transports: ['internal', 'a new one'] } }
    },
    /** Answers `navigator.credentials.get()`. */
    get: (options: Options, lie: Lie = {}): Schemas['PasskeyAssertion'] => {
      if (counter > 0) counter += 1
      const data = head(0, lie)
      const client = clientData('webauthn.get', options, lie)
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
      const response = {
        clientDataJSON: text(client),
        authenticatorData: text(data),
        signature: text(signature),
        userHandle: lie.userHandle ?? user,
      }
      return { ...common, response }
    },
  }
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url')
}
