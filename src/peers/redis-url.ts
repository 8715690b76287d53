import { isIP } from 'node:net'

/** Where a Redis is and who asks it. */
export type RedisAddress = {
  readonly host: string
  readonly port: number
  readonly database: number
  readonly isEncrypted: boolean
  /** What a server with several names is asked for by TLS; undefined for an address of numbers. */
  readonly serverName: string | undefined
  readonly username: string | undefined
  readonly password: string | undefined
}

const standardPort = 6379
const databaseMax = 1_000_000

/** Reads `redis[s]://[user][:password]@host[:port][/database]`; a text says what is wrong, without any of it. */
export function readRedisUrl(text: string): RedisAddress | string {
  const url = URL.parse(text)
  if (url === null) {
    return 'It is no address. A password with marks as / or @ has to be percent-encoded.'
  }
  const { protocol, hostname, port, username, password, pathname, search, hash } = url
  if (hostname === '') return 'It names no host.'
  const database = pathname.slice(1)
  if (
    !/^\d{0,7}$/.test(database) ||
    Number(database) > databaseMax ||
    search !== '' ||
    hash !== ''
  ) {
    return 'Behind the host there may be the number of a database only, as in redis://host:6379/0.'
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
    return 'Its user or password is not percent-encoded as it should be: a % is written %25.'
  }
}

/** Host, port and number of the database: what may be told of the address. */
export function redisPlace({ host, port, database }: RedisAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}
