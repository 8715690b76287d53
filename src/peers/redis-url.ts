import { isIP } from 'node:net'

export type RedisAddress = {
  readonly host: string
  readonly port: number
  readonly database: number
  readonly isEncrypted: boolean
  /** Server name for TLS (SNI); undefined if the host is an IP address. */
  readonly serverName: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const standardPort = 6379
const databaseMax = 1_000_000

/** Parses `redis[s]://[user][:password]@host[:port][/database]`; an error text quotes no part of the URL. */
export function readRedisUrl(text: string): RedisAddress | string {
  const url = URL.parse(text)
  if (url === null) {
    return 'It must be an address such as redis://user:password@host:6379. Percent-encode special characters of the password: @ as %40.'
  }
  const { protocol, hostname, port, username, password, pathname, search, hash } = url
  if (hostname === '') return 'The host is missing. For example: redis://host:6379'
  const database = pathname.slice(1)
  if (
    !/^\d{0,7}$/.test(database) ||
    Number(database) > databaseMax ||
    search !== '' ||
    hash !== ''
  ) {
    return 'Only a database number may follow the host. For example: redis://host:6379/0'
  }
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  try {
    return {
      host,
      port: port === '' ? standardPort : Number(port),
      database: Number(database),
      isEncrypted: protocol === 'rediss:',
      serverName: isIP(host) === 0 ? host : undefined,
      username: username === '' ? undefined : decodeURIComponent(username),
      password: password === '' ? undefined : decodeURIComponent(password),
    }
  } catch {
    return 'The user or password is not percent-encoded: write % as %25.'
  }
}

/** The part of the address that may be logged. */
export function redisPlace({ host, port, database }: RedisAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}
