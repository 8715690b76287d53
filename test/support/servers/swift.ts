import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { freePort } from '../../../scripts/free-port.ts'
import { pathOf, type TestProgram } from '../../../scripts/test-servers/programs.ts'
import { startDaemon, type Daemon } from './daemon.ts'
import { takesConnections } from './nginx.ts'

/** A bucket of OpenStack Swift, which has the API of S3 and checks its signatures. */
export type TestBucket = Pick<Daemon, 'kill'> & {
  address: string
  accessKeyId: string
  secretAccessKey: string
  /** The variables of a gateway that uses the bucket. */
  variables: Record<string, string>
  /** Limits the bytes of the bucket. */
  limit(bytes: number): Promise<void>
  /** The names of all objects. */
  names(): Promise<string[]>
  stop(): Promise<void>
}

const [user, accessKeyId, secretAccessKey] = ['test_tester', 'test:tester', 'testing']
const parts = ['account', 'container', 'object'] as const

/** Starts Swift with one device and one bucket, in a few seconds. */
export async function startBucket(): Promise<TestBucket> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-swift-'))
  mkdirSync(join(folder, 'devices', 'one'), { recursive: true })
  const common = (port: number) =>
    `[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = ${port}\nworkers = 0\nuser = ${userInfo().username}\nswift_dir = ${folder}\n`
  const daemons: Daemon[] = []
  const start = async (name: (typeof parts)[number] | 'proxy', port: number, text: string) => {
    const own = join(folder, name)
    mkdirSync(own)
    const file = join(own, `${name}.conf`)
    writeFileSync(file, common(port) + text)
    const program: TestProgram = `swift-${name}-server`
    const isReady = () => takesConnections(port)
    const daemon = await startDaemon({
      program,
      words: [file],
      isReady,
      stopSignal: 'SIGKILL',
      folder: own,
    })
    daemons.push(daemon)
    return daemon
  }
  const ports = { account: await freePort(), container: await freePort(), object: await freePort() }
  for (const part of parts) {
    const port = ports[part]
    const builder = join(folder, `${part}.builder`)
    const build = (...words: string[]) =>
      execFileSync(pathOf('swift-ring-builder') ?? 'swift-ring-builder', [builder, ...words])
    build('create', '1', '1', '1')
    build('add', `r1z1-127.0.0.1:${port}/one`, '1')
    build('rebalance')
    const devices = `devices = ${join(folder, 'devices')}\nmount_check = false\ndisable_fallocate = true\n`
    const app = `[pipeline:main]\npipeline = ${part}-server\n[app:${part}-server]\nuse = egg:swift#${part}\n`
    await start(part, port, devices + app)
  }
  const port = await freePort()
  const proxy = await start('proxy', port, proxyText)
  const client = new AwsClient({ accessKeyId, secretAccessKey, service: 's3', region: 'us-east-1' })
  const address = `http://127.0.0.1:${port}/pictures`
  const ask = async (method: string, query = '') => {
    const response = await client.fetch(address + query, { method })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  }
  await ask('PUT')
  return {
    address,
    accessKeyId,
    secretAccessKey,
    variables: {
      PICTURE_BUCKET: address,
      PICTURE_BUCKET_ACCESS_KEY_ID: accessKeyId,
      PICTURE_BUCKET_SECRET_ACCESS_KEY: secretAccessKey,
    },
    kill: proxy.kill,
    limit: async (bytes) => {
      // The container's own server takes the quota without a token, which Swift keeps in memcached.
      const headers = {
        'x-timestamp': String(Date.now() / 1000),
        'x-container-meta-quota-bytes': String(bytes),
      }
      const of = `http://127.0.0.1:${ports.container}/one`
      const post = (partition: number) =>
        fetch(`${of}/${partition}/AUTH_test/pictures`, { method: 'POST', headers })
      const answers = await Promise.all([0, 1].map(post))
      if (!answers.some(({ ok }) => ok)) throw new Error('No partition has the bucket.')
    },
    names: async () => {
      const text = await ask('GET', '?list-type=2')
      return [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, name]) => name!)
    },
    stop: async () => {
      await Promise.all(daemons.map((daemon) => daemon.stop()))
      rmSync(folder, { recursive: true })
    },
  }
}

const proxyText = `[pipeline:main]
pipeline = catch_errors cache s3api tempauth container-quotas proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:9
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_${user} = ${secretAccessKey} .admin
[filter:container-quotas]
use = egg:swift#container_quotas
`
