import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { Refused, vendorDouble } from './spoken.ts'
import type { ReceivedRequest, ScriptedAnswer } from './upstream.ts'

type Json = Record<string, unknown>

const email = 'gateway@foxes.iam.gserviceaccount.com'
const keyId = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
const scope = 'https://www.googleapis.com/auth/cloud-platform'
const pair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

/** The private key of the account, of which nothing may leave the gateway. */
export const privateKey = pair.privateKey

/** The JSON file of a service account whose tokens come from `address`. */
export function serviceAccount(address: string, members: object = {}): string {
  const account = {
    type: 'service_account',
    project_id: 'foxes',
    private_key_id: keyId,
    private_key: privateKey,
    client_email: email,
    token_uri: address,
    ...members,
  }
  return JSON.stringify(account, null, 2)
}

/**
 * A double of the token endpoint at `address`: it checks the form, the signature and every claim, and
 * answers with the token of `next`, valid for an hour.
 */
export function tokenDouble(
  address: string,
  { next, clock }: { next: () => string; clock: () => number },
): (request: ReceivedRequest) => ScriptedAnswer {
  return vendorDouble({
    check: (request) => check(request, address, clock()),
    refusal: ({ type, message }) => ({ error: type, error_description: message }),
    answer: () => ({ body: { access_token: next(), expires_in: 3599, token_type: 'Bearer' } }),
  })
}

function check({ method, headers, body }: ReceivedRequest, address: string, nowMs: number): void {
  const refuse = (type: string, message: string): never => {
    throw new Refused(400, type, message)
  }
  if (method !== 'POST') refuse('invalid_request', method)
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') {
    refuse('invalid_request', 'content-type')
  }
  const form = new URLSearchParams(String(body))
  if ([...form.keys()].toSorted().join() !== 'assertion,grant_type') refuse('invalid_request', '')
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
    refuse('unsupported_grant_type', '')
  }
  const [head = '', claims = '', signature = ''] = form.get('assertion')!.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
  const { alg, kid } = read(head)
  if (alg !== 'RS256' || kid !== keyId) refuse('invalid_grant', 'header')
  const key = createPublicKey(pair.publicKey)
  const signed = Buffer.from(`${head}.${claims}`)
  if (!verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url'))) {
    refuse('invalid_grant', 'Invalid JWT Signature.')
  }
  const { iss, aud, scope: asked, iat, exp } = read(claims)
  if (iss !== email) refuse('invalid_grant', 'Invalid issuer.')
  if (aud !== address) refuse('invalid_grant', 'Invalid audience.')
  if (asked !== scope) refuse('invalid_scope', String(asked))
  const now = nowMs / 1000
  const [from, until] = [Number(iat), Number(exp)]
  if (!(from <= now && until > now && until - from <= 3600)) {
    refuse('invalid_grant', 'Invalid JWT: Token must be a short-lived token (60 minutes).')
  }
}
