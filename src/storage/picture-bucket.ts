import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, request as send } from 'undici'
import { systemReason } from '../core/words/system-reason.ts'
import type { PicturePlace } from './picture-folder.ts'

type Options = {
  /** The address of the bucket, with its name in the path or in the host. */
  address: string
  /** By default the region in a known host name, or us-east-1. */
  region: string | undefined
  accessKeyId: string
  secretAccessKey: string
  timeoutMs?: number
  /** The Unix time in milliseconds by which requests are signed. */
  now?: () => number
}

type Asked = {
  method: 'GET' | 'PUT' | 'DELETE'
  name: string
  body?: Uint8Array
  bytesMax?: number
}

/** Requests of one process at a time; further ones wait for a connection. */
const connectionsMax = 32
const connectTimeoutMs = 3000
/** Limit of a request: enough for the largest picture over a slow connection. */
const requestTimeoutMs = 30_000
/** The check is made while a client waits. */
const checkTimeoutMs = 3000
/** Buckets refuse single requests while they move data; a second one usually succeeds. */
const tries = 2
const retryDelayMs = 100
const errorBytesMax = 16_384

/** An S3-compatible bucket; its requests are signed with AWS Signature Version 4. */
export function createPictureBucket(options: Options): PicturePlace {
  const { address, timeoutMs = requestTimeoutMs, now = Date.now, ...credentials } = options
  const base = address.replace(/\/$/, '')
  const dispatcher = new Agent({
    connections: connectionsMax,
    connect: { timeout: connectTimeoutMs },
  })
  const sendOnce = async ({ method, name, body, bytesMax = 0 }: Asked, signal: AbortSignal) => {
    const url = `${base}/${name}`
    const datetime = new Date(now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
    const unsigned = { 'x-amz-content-sha256': hash('sha256', body ?? '') }
    const asked = { service: 's3', method, url, headers: unsigned, datetime }
    const signer = new AwsV4Signer({ ...credentials, ...asked })
    const headers = Object.fromEntries((await signer.sign()).headers)
    const answer = await send(url, { method, headers, body: body ?? null, dispatcher, signal })
    const isOk = answer.statusCode >= 200 && answer.statusCode < 300
    const content = await upTo(isOk ? bytesMax : errorBytesMax, answer.body)
    return { status: answer.statusCode, isOk, content }
  }
  const ask = async (asked: Asked, limitMs = timeoutMs): Promise<Buffer | undefined> => {
    const signal = AbortSignal.timeout(limitMs)
    for (let left = tries - 1; ; left--) {
      const answer = await sendOnce(asked, signal).catch((cause: unknown) => ({ cause }))
      if ('isOk' in answer && answer.isOk) return answer.content
      const failure = 'cause' in answer ? unreachable(base, answer.cause) : refusal(base, answer)
      if (failure === undefined) return undefined
      const mayRetry = ('cause' in answer || answer.status >= 500) && !signal.aborted
      if (left === 0 || !mayRetry) throw failure
      await pause(retryDelayMs)
    }
  }
  return {
    name: base,
    check: async () =>
      void (await ask({ method: 'PUT', name: 'check', body: mark }, checkTimeoutMs)),
    write: async (name, body) => void (await ask({ method: 'PUT', name, body })),
    read: (name, bytesMax) => ask({ method: 'GET', name, bytesMax }),
    remove: async (name) => void (await ask({ method: 'DELETE', name })),
    close: () => dispatcher.close(),
  }
}

const mark = Buffer.from('The gateway writes this object to check the bucket.\n')

/** The bytes of a body, which is cut off after `bytesMax`. */
async function upTo(bytesMax: number, body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > bytesMax) break
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function unreachable(base: string, cause: unknown): Error {
  const { name, code } = cause as { name?: string; code?: unknown }
  const isLate = name === 'TimeoutError' || String(code).endsWith('_TIMEOUT')
  const reason = isLate ? 'it does not answer in time' : systemReason(cause)
  const remedy = 'Check PICTURE_BUCKET, and that this machine reaches it.'
  return new Error(`The bucket ${base} cannot be used: ${reason}. ${remedy}`)
}

const credentialsRemedy =
  'Check PICTURE_BUCKET_ACCESS_KEY_ID and PICTURE_BUCKET_SECRET_ACCESS_KEY, and the rights of the key.'
const remedies: Readonly<Record<string, string>> = {
  AccessDenied: credentialsRemedy,
  InvalidAccessKeyId: credentialsRemedy,
  SignatureDoesNotMatch: credentialsRemedy,
  NoSuchBucket: 'Create the bucket, or correct PICTURE_BUCKET.',
  RequestTimeTooSkewed: 'Correct the clock of this machine.',
  AuthorizationHeaderMalformed: 'Correct PICTURE_BUCKET_REGION.',
  PermanentRedirect: 'Set PICTURE_BUCKET to the address of the region of the bucket.',
}

/**
 * The error for an answer of the bucket; undefined if only the object is missing. Of the body it contains one
 * word, since the rest may repeat what was signed.
 */
function refusal(
  base: string,
  { status, content }: { status: number; content: Buffer },
): Error | undefined {
  const code = /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(content.toString())?.[1] ?? ''
  if (status === 404 && code === 'NoSuchKey') return undefined
  const remedy = remedies[code] ?? 'Look into the log of the bucket, and free space if it is full.'
  return new Error(
    `The bucket ${base} cannot be used: it answers ${status}${code === '' ? '' : ` ${code}`}. ${remedy}`,
  )
}
