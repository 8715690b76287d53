import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/settings/config.ts'
import { projectFolder } from '../support/folder.ts'
import { programPath } from '../support/program-path.ts'

const folder = join(projectFolder, 'deploy/helm')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const chart = parse(read('Chart.yaml')) as { name: string; appVersion: string }
const defaults = parse(read('values.yaml')) as Record<string, unknown>
const check = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')) as object)
const spread = { secrets: { DATABASE_URL: 'postgres://a:b@c/d', METRICS_TOKEN: 'm' } }

type Container = {
  image: string
  args?: string[]
  env: { name: string; valueFrom?: { secretKeyRef: object } }[]
  envFrom: object[]
  volumeMounts: object[]
}
type Pod = { initContainers: Container[]; containers: Container[] }
type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec?: { template?: { spec: Pod } }
}
type Model = new (data: object) => { validate(): void }

/** The folder of Debian's Go packages. They include Helm's template libraries, but not Helm itself. */
const library = '/usr/share/gocode'

describe('the Helm chart', () => {
  it('has the version of the gateway', () => {
    const { version } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(chart.appVersion).to.equal(version)
  })

  it('has default values that its schema accepts, and a schema that refuses invalid ones', () => {
    expect(check(defaults), JSON.stringify(check.errors)).to.equal(true)
    for (const wrong of [
      { replicas: 0 },
      { replica: 2 },
      { secrets: { 'a-b': 'c' } },
      { service: { port: 'http' } },
    ])
      expect(check({ ...defaults, ...wrong }), JSON.stringify(wrong)).to.equal(false)
  })

  describe('with the template engine of Helm (go, golang-github-masterminds-sprig-dev, golang-k8s-sigs-yaml-dev)', function () {
    before(function () {
      programPath('go', this)
    })

    const cases: [string, object, string[]][] = [
      [
        'as it is, with a store',
        spread,
        ['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Secret', 'Service'],
      ],
      [
        'with all that it has',
        {
          existingSecret: 'gateway',
          persistence: { enabled: true, size: '1Gi', storageClass: 'fast' },
          autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4, cpuUtilization: 70 },
          ingress: { ...(defaults['ingress'] as object), enabled: true, tlsSecret: 'tls' },
          serviceMonitor: { enabled: true, interval: '30s' },
          environment: { LOG_LEVEL: 'info' },
          imagePullSecrets: [{ name: 'pull' }],
          nodeSelector: { disk: 'fast' },
          tolerations: [{ key: 'a', operator: 'Exists' }],
          affinity: { nodeAffinity: {} },
          podAnnotations: { a: 'b' },
        },
        [
          'ConfigMap',
          'HorizontalPodAutoscaler',
          'Ingress',
          'PodDisruptionBudget',
          'Service',
          'ServiceMonitor',
          'StatefulSet',
        ],
      ],
    ]
    for (const [name, values, kinds] of cases) {
      it(`renders valid manifests, ${name}`, async () => {
        expect(check({ ...defaults, ...values })).to.equal(true)
        const manifests = render(values)
        expect(manifests.map(({ kind }) => kind).toSorted()).to.deep.equal(kinds)
        for (const manifest of manifests) {
          // ServiceMonitor is a custom resource, which the models of Kubernetes do not include.
          if (manifest.kind !== 'ServiceMonitor') (await modelOf(manifest)).validate()
        }
      })
    }

    const persistence = { enabled: true, size: '1Gi' }

    it('refuses values that would lose the ledger', () => {
      for (const empty of [{}, { secrets: { DATABASE_URL: '' } }, { persistence }])
        expect(() => render(empty)).to.throw('More than one replica needs one store')
      for (const alone of [{}, { secrets: { OPENAI_API_KEY: 'k' } }])
        expect(() => render({ replicas: 1, ...alone })).to.throw('One replica keeps its store in')
      expect(render({ replicas: 1, persistence }).map(({ kind }) => kind)).to.include('StatefulSet')
      expect(() => render({ ...spread, existingSecret: 'one' })).to.throw(
        "either 'existingSecret' or 'secrets'",
      )
    })

    it('requires a termination grace period of at least limits.drain_timeout_ms', () => {
      const { drainTimeoutMs } = loadConfig({}).config.limits
      const least = 5 + drainTimeoutMs / 1000 + 15
      const ending = (seconds: number, config: object = {}) =>
        render({ ...spread, config, terminationGracePeriodSeconds: seconds })
      expect(() => ending(least - 1)).to.throw(`has to be at least ${least}`)
      expect(ending(least)).to.not.deep.equal([])
      const config = { limits: { drain_timeout_ms: 120_001 } }
      expect(() => ending(140, config)).to.throw('has to be at least 141')
      expect(ending(141, config)).to.not.deep.equal([])
    })

    it('requires DATABASE_URL in an existing Secret, unless a single pod has a volume', () => {
      const reference = { name: 'DATABASE_URL', from: { name: 'gateway', key: 'DATABASE_URL' } }
      const found = (values: object) =>
        containersOf(render({ existingSecret: 'gateway', ...values })).map(({ env }) => {
          const { name, valueFrom } = env.find((one) => one.name === 'DATABASE_URL') ?? {}
          return name === undefined ? undefined : { name, from: valueFrom?.secretKeyRef }
        })
      expect(found({})).to.deep.equal([reference, reference])
      expect(found({ replicas: 1 })).to.deep.equal([reference, reference])
      expect(found({ replicas: 1, persistence })).to.deep.equal([undefined, undefined])
    })

    it('migrates in an init container, which has no probe, before the gateway starts', () => {
      const [migrate, gateway] = containersOf(render(spread))
      expect(migrate).to.deep.include({ args: ['migrate'] })
      for (const same of ['image', 'env', 'envFrom', 'volumeMounts'] as const)
        expect(migrate?.[same]).to.deep.equal(gateway?.[same])
    })
  })
})

/** The containers of a pod in the order in which they start. */
function containersOf(manifests: Manifest[]): Container[] {
  const { spec } = manifests.find(({ spec: found }) => found?.template !== undefined)!
  const { initContainers, containers } = spec!.template!.spec
  return [...initContainers, ...containers]
}

function render(values: object): Manifest[] {
  const seen = {
    Values: { ...defaults, ...values },
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Release: { Name: 'gateway', Service: 'Helm' },
  }
  const words = ['run', join(projectFolder, 'scripts/chart/render.go'), join(folder, 'templates')]
  const text = execFileSync('go', words, {
    input: JSON.stringify(seen),
    encoding: 'utf8',
    env: { ...process.env, GO111MODULE: 'off', GOPATH: library },
    stdio: 'pipe',
  })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** The class of a manifest, which validates it against the schema of Kubernetes. */
async function modelOf(manifest: Manifest): Promise<InstanceType<Model>> {
  const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<string, Model>
  return new models[manifest.kind]!(manifest)
}
