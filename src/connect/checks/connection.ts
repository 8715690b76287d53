import { passAllPathsRemedy, type Fault } from '../fault.ts'
import type { Target } from '../target.ts'

const certificates: Readonly<
  Record<string, readonly [code: string, what: string, remedy: string]>
> = {
  CERT_HAS_EXPIRED: [
    'certificate_expired',
    'has expired',
    'Renew it, and automate the renewal (Caddy does this itself; use certbot for nginx).',
  ],
  CERT_NOT_YET_VALID: [
    'certificate_not_yet_valid',
    'is not valid yet',
    'Check the clocks of the server and of this machine.',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'certificate_other_name',
    'is issued for another name',
    'Get a certificate for the name that clients use, or give clients the name in the certificate.',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [
    'certificate_incomplete',
    'is sent without its intermediate certificate',
    'Configure the full chain in the proxy (nginx `ssl_certificate` with `fullchain.pem` of certbot).',
  ],
}
const selfSigned = [
  'certificate_self_signed',
  'is not signed by an authority that clients trust',
  'Get a certificate from a public authority; Caddy gets one from Let’s Encrypt automatically.',
] as const

/** Whether the certificate caused an error, so that requests without verification still work. */
export function isOfCertificate(code: string): boolean {
  return code in certificates || /SELF_SIGNED|CERT|ISSUER/.test(code)
}

/** The fault of a target to which no connection can be made. */
export function unreachable({ endpoint, origin }: Target, code: string): Fault {
  const { hostname, host } = endpoint
  if (isOfCertificate(code)) {
    const [name, what, remedy] = certificates[code] ?? selfSigned
    return { code: name, text: `The certificate of ${host} ${what} (${code}).`, remedy }
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      code: 'name_unknown',
      text: `The name ${hostname} has no DNS record (${code}).`,
      remedy: 'Add an A or AAAA record for it, or correct the name.',
    }
  }
  if (/SSL|TLS|EPROTO/.test(code)) {
    return {
      code: 'no_tls',
      text: `${host} does not accept TLS connections (${code}).`,
      remedy: 'Configure TLS 1.2 or later on that port of the proxy: nginx `listen 443 ssl;`.',
    }
  }
  const why = code === 'timeout' ? 'the connection timed out' : code
  return {
    code: 'unreachable',
    text: `${origin} cannot be reached (${why}).`,
    remedy:
      'Check that the proxy runs and listens on that port, and that the firewall allows connections to it.',
  }
}

/** The fault of an address without a tool server; `isBelow`: it is at the address with a final slash. */
export function endpointMissing({ endpoint }: Target, isBelow: boolean): Fault {
  const { pathname } = endpoint
  return isBelow
    ? {
        code: 'only_below_endpoint',
        text: `${pathname}/ reaches the gateway, but ${pathname} does not (404).`,
        remedy: `The rule of the proxy matches only ${pathname}/*; it has to match ${pathname} too. ${passAllPathsRemedy}`,
      }
    : {
        code: 'endpoint_missing',
        text: `There is no tool server at ${pathname} (404).`,
        remedy: `The tool server of the gateway is at /mcp. ${passAllPathsRemedy}`,
      }
}

/** The fault of plain http on a public address: anyone on the network path can read keys. */
export function plainHttp({ host }: URL): Fault {
  return {
    code: 'plain_http',
    text: `The address is http: hosted clients accept only https, and keys are sent unencrypted.`,
    remedy: `Put a proxy with TLS in front of the gateway (deploy/proxies has nginx and Caddy) and set BASE_URL=https://${host}.`,
  }
}

/** The fault of another port than 443, the only port that hosted clients connect to. */
export function otherPortFault({ port }: URL): Fault {
  return {
    code: 'other_port',
    text: `The address has the port ${port}; hosted clients connect only to port 443.`,
    remedy: 'Configure the proxy to listen on port 443, and omit the port in BASE_URL.',
  }
}

const clockMs = 120_000

/** A fault if the header `Date` differs from this machine's clock by two minutes or more. */
export function clockFault(date: string | undefined, now: number): Fault | undefined {
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs) || Math.abs(theirs - now) < clockMs) return undefined
  const minutes = Math.round(Math.abs(theirs - now) / 60_000)
  return {
    code: 'clock_off',
    text: `The clock of the server is ${minutes} minutes ${theirs < now ? 'behind' : 'ahead of'} the clock of this machine.`,
    remedy: 'Set both clocks by NTP: the expiry of keys, tokens and certificates depends on them.',
  }
}
