import { expect } from 'chai'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { parse } from 'yaml'
import { makeFolder } from '../support/folder.ts'
import { startGateway, type TestGateway } from '../support/gateway.ts'
import { approveClient } from '../support/oauth-person.ts'
import { startPublicHost, type PublicHost } from '../support/public-host.ts'

type Inputs = Record<string, string>
type Step = {
  stepId: string
  request: { url: string }
  response: { statusCode: number; body: object }
  checks: { passed: boolean; name: string; condition?: string }[]
}
type Outcome = { exitCode: number; shown: string; steps: Step[]; failed: string[] }

const runner = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
const files = ['openapi.yaml', 'workflows.arazzo.yaml']
/** How often a workflow asks again is of no interest here. */
const withShortPauses = (workflows: string) =>
  workflows.replaceAll(/retryAfter: [\d.]+/g, 'retryAfter: 0.1')
const authorization = {
  response_type: 'code',
  redirect_uri: 'http://127.0.0.1:33418/callback',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
}

describe('the workflows that a gateway serves', () => {
  const ran = new Set<string>()
  let folder: { path: string; remove: () => void }
  let host: PublicHost
  let gateway: TestGateway
  /** Its vendor is the sandbox of the other gateway. */
  let charged: TestGateway
  let runs = 0
  before(async () => {
    folder = makeFolder()
    host = await startPublicHost()
    gateway = await startGateway({ publicNet: host.net })
    const variables = { OPENAI_API_KEY: gateway.testKey, OPENAI_BASE_URL: `${gateway.url}/v1` }
    charged = await startGateway({ variables })
  })
  after(async () => {
    await charged.stop()
    await gateway.stop()
    await host.stop()
    folder.remove()
  })

  /** Runs a workflow of the served documents, after a change, as `redocly respect` does. */
  const run = async (
    workflowId: string,
    inputs: Inputs,
    { at = gateway, change = (workflows: string) => workflows } = {},
  ): Promise<Outcome> => {
    ran.add(workflowId)
    const place = join(folder.path, String(runs++))
    mkdirSync(place)
    for (const name of files) {
      const served = await (await at.fetch(`/${name}`, { key: null })).text()
      writeFileSync(
        join(place, name),
        name.startsWith('openapi') ? served : change(withShortPauses(served)),
      )
    }
    const result = join(place, 'result.json')
    const given = Object.entries(inputs).flatMap(([name, value]) => ['-i', `${name}=${value}`])
    const argv = ['respect', join(place, files[1]!), '-w', workflowId, '-J', result]
    const worker = new Worker(runner, {
      argv: [...argv, '-S', `gateway=${at.url}`, ...given, '--no-secrets-masking'],
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      execArgv: [],
      stdout: true,
      stderr: true,
    })
    const ended = new Promise<number>((resolve, reject) => {
      worker.once('exit', resolve).once('error', reject)
    })
    const texts = await Promise.all([ended, text(worker.stdout), text(worker.stderr)])
    const [exitCode, ...shown] = texts
    const steps = stepsIn(result)
    const failed = steps.flatMap(({ stepId, checks }) =>
      checks
        .filter(({ passed }) => !passed)
        .map(({ condition, name }) => `${stepId}: ${condition ?? name}`),
    )
    return { exitCode, shown: shown.join(''), steps, failed }
  }
  const passes = async (...asked: Parameters<typeof run>): Promise<Step[]> => {
    const { exitCode, shown, steps } = await run(...asked)
    expect(exitCode, shown).to.equal(0)
    return steps
  }

  it('make a first picture with a test key', async () => {
    const steps = await passes('firstPicture', { key: gateway.testKey })
    expect(steps.map(({ stepId }) => stepId)).to.deep.equal([
      'readKey',
      'quotePicture',
      'makePicture',
    ])
    expect((await gateway.usage()).map(({ mode }) => mode)).to.deep.equal(['test'])
  })

  it('spend the budget of a key, and are refused before the vendor is called', async () => {
    const before = (await gateway.usage()).length
    await passes('spendBudget', { admin_key: charged.adminKey }, { at: charged })
    expect(await gateway.usage()).to.have.length(before + 1)
    expect((await charged.usage()).map(({ mode }) => mode)).to.deep.equal(['live'])
  })

  it('register an OAuth client, and use the code that a person allowed', async () => {
    const steps = await passes('registerClient', {})
    const { body } = steps.find(({ stepId }) => stepId === 'register')!.response
    const { client_id: clientId } = body as { client_id: string }
    const query = new URLSearchParams({ ...authorization, client_id: clientId })
    const back = await approveClient(gateway, `/oauth/authorize?${String(query)}`)
    const code = back.searchParams.get('code')!
    await passes('useCode', { client_id: clientId, code })
    const again = await run('useCode', { client_id: clientId, code })
    expect(again.failed[0]).to.equal('exchange: $statusCode == 200')
    expect(again.exitCode).to.equal(1)
  })

  it('make a job, poll it, and find the event that a webhook received', async () => {
    host.serve('/hook', (response) => void response.writeHead(204).end())
    const inputs = { admin_key: gateway.adminKey, receiver: host.address('/hook') }
    const steps = await passes('jobToWebhook', inputs, {
      change: (workflows) =>
        workflows.replaceAll('prompt: A lighthouse', 'prompt: sandbox:delay=400 A lighthouse'),
    })
    const polls = steps.filter(({ stepId }) => stepId === 'poll')
    expect(polls).to.have.length.above(1)
    expect(polls.at(-1)!.response.body).to.include({ status: 'completed' })
    expect(host.requests.map(({ body }) => JSON.parse(body) as object)).to.have.length(1)
  })

  it('fail when a criterion does not hold, and go no further', async () => {
    const wrong = (workflows: string) => workflows.replace('/mode == "test"', '/mode == "live"')
    const { exitCode, shown, steps, failed } = await run(
      'firstPicture',
      { key: gateway.testKey },
      { change: wrong },
    )
    expect(failed).to.deep.equal(['readKey: $response.body#/mode == "live"'])
    expect(steps).to.have.length(1)
    expect(exitCode, shown).to.equal(1)
  })

  it('ask again when a limit is reached, and give up after three times', async () => {
    const key = await gateway.createKey('test')
    await gateway.allow({ requests_per_minute: 0 }, key)
    const { steps, failed } = await run('firstPicture', { key })
    const last = steps.filter(({ stepId }) => stepId === 'makePicture')
    expect(last.map(({ response }) => response.statusCode)).to.deep.equal([429, 429, 429, 429])
    expect(failed).to.include('makePicture: $statusCode == 200')
  })

  it('do not ask again when the gateway says that this would not help', async () => {
    const change = (workflows: string) =>
      workflows.replace('$statusCode == 402', '$statusCode == 200').replace('^(408', '^(402|408')
    const { steps, exitCode } = await run(
      'spendBudget',
      { admin_key: charged.adminKey },
      { at: charged, change },
    )
    expect(steps.at(-1)).to.include({ stepId: 'callRefused' })
    expect(steps.filter(({ stepId }) => stepId === 'callRefused')).to.have.length(1)
    expect(exitCode).to.equal(1)
  })

  it('are all run here, by operations that the contract has', () => {
    const { workflows } = parse(readFileSync(files[1]!, 'utf8')) as {
      workflows: { workflowId: string }[]
    }
    expect([...ran]).to.have.members(workflows.map(({ workflowId }) => workflowId))
  })
})

function stepsIn(path: string): Step[] {
  const { files: byName } = JSON.parse(readFileSync(path, 'utf8')) as {
    files: Record<string, { executedWorkflows: { executedSteps: Step[] }[] }>
  }
  return Object.values(byName).flatMap(({ executedWorkflows }) =>
    executedWorkflows.flatMap(({ executedSteps }) => executedSteps),
  )
}
