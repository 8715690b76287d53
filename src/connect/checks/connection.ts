import { passAllPaths, type Fault } from '../fault.ts'
import type { Target } from '../target.ts'

const certificates: Readonly<
  Record<string, readonly [code: string, what: string, remedy: string]>
> = {
  CERT_HAS_EXPIRED: [
    'certificate_expired',
    'has expired',
    'Renew it, and have it renewed by itself (Caddy does; certbot for nginx).',
  ],
  CERT_NOT_YET_VALID: [
    'certificate_not_yet_valid',
    'is not valid yet',
    'Look at the clocks of the server and of this machine.',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'certificate_other_name',
    'is for another name',
    'Get one for the name that clients type, or give them the name that it is for.',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'certificate_incomplete',
    'comes without the one that signed it',
    'Give the proxy the whole chain (`fullchain.pem` of certbot in `ssl_certificate`).',
  ],
}
const selfSigned = [
  'certificate_self_signed',
  'is signed by nobody whom clients trust',
  'Get one of a public authority; Caddy fetches one of Let’s Encrypt by itself.',
] as const

/** Whether an error is of the certificate, so that the other end can still be asked. */
export function isOfCertificate(code: string): boolean {
  return code in certificates || /SELF_SIGNED|CERT|ISSUER/.test(code)
}

/** Why nothing could be asked at all. */
export function unreachable({ endpoint, origin }: Target, code: string): Fault {
  const { hostname, host } = endpoint
  if (isOfCertificate(code)) {
    const [name, what, remedy] = certificates[code] ?? selfSigned
    return { code: name, text: `The certificate of ${host} ${what} (${code}).`, remedy }
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      code: 'name_unknown',
      text: `There is no address for the name ${hostname} (${code}).`,
      remedy: 'Add an A or AAAA record for it, or correct the name.',
    }
  }
  if (/SSL|TLS|EPROTO/.test(code)) {
    return {
      code: 'no_tls',
      text: `${host} does not speak TLS as clients do (${code}).`,
      remedy: 'Have the proxy listen with TLS 1.2 or later on that port: nginx `listen 443 ssl;`.',
    }
  }
  const why = code === 'timeout' ? 'nobody answers in time' : code
  return {
    code: 'unreachable',
    text: `${origin} cannot be reached (${why}).`,
    remedy:
      'See that the proxy runs and listens on that port, and that the firewall lets it through.',
  }
}

/** The tool server is not where it was looked for. */
export function endpointMissing({ endpoint }: Target, isBelow: boolean): Fault {
  const { pathname } = endpoint
  return isBelow
    ? {
        code: 'only_below_endpoint',
        text: `${pathname}/ reaches the gateway, but ${pathname} does not (404).`,
        remedy: `The rule of the proxy is for ${pathname}/* alone; it has to match ${pathname} too. ${passAllPaths}`,
      }
    : {
        code: 'endpoint_missing',
        text: `There is no tool server at ${pathname} (404).`,
        remedy: `The gateway has it at /mcp of its address. ${passAllPaths}`,
      }
}

/** Over plain http on a public address keys can be read by anybody on the way. */
export function plainHttp({ host }: URL): Fault {
  return {
    code: 'plain_http',
    text: `The address is http: hosted clients take https alone, and keys can be read on the way.`,
    remedy: `Put TLS before the gateway (deploy/proxies has nginx and Caddy) and set BASE_URL=https://${host}.`,
  }
}

/** Hosted clients connect to port 443 alone. */
export function otherPort({ port }: URL): Fault {
  return {
    code: 'other_port',
    text: `The address has the port ${port}; hosted clients connect to 443 alone.`,
    remedy: 'Have the proxy listen on 443, and leave the port out of BASE_URL.',
  }
}

const clockMs = 120_000

/** Whether the two clocks agree, as far as the header `Date` tells. */
export function clockOff(date: string | undefined, now: number): Fault | undefined {
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs) || Math.abs(theirs - now) < clockMs) return undefined
  const minutes = Math.round(Math.abs(theirs - now) / 60_000)
  return {
    code: 'clock_off',
    text: `The clock there is ${minutes} minutes ${theirs < now ? 'behind' : 'ahead of'} the one of this machine.`,
    remedy:
      'Have both machines set their clocks by NTP: keys, tokens and certificates expire by them.',
  }
}
