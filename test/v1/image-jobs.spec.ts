import { expect } from 'chai'
import { expectError } from '../support/expect-error.ts'
import { endedJob, getJob, jobsPath, rowOf, startJob, type Job } from '../support/image-jobs.ts'
import type { ImageDouble } from '../support/image-doubles/double.ts'
import { startImageVendors, type ImagesBody, type ImageVendors } from '../support/image-vendors.ts'
import { openAiClient } from '../support/openai-client.ts'
import { until } from '../support/until.ts'

const path = '/v1/images/generations'
/** Made by a synchronous call; `qwen-image-plus` is made as a task. */
const seedream = { model: 'bytedance/seedream-4-0', prompt: 'Three cranes', size: '1024x1024' }
const qwen = { model: 'alibaba/qwen-image-plus', prompt: 'A red kite', size: '1328x1328' }
const bounds = { taskPollMs: 5, backgroundRecheckMs: 20, processLeaseMs: 20 }
const missing = { status: 404, code: 'not_found', param: 'job_id' }

describe('image jobs', () => {
  let vendors: ImageVendors
  let gateway: ImageVendors['gateway']
  let bytedance: ImageDouble
  let alibaba: ImageDouble
  before(async () => {
    vendors = await startImageVendors({ vendors: ['bytedance', 'alibaba', 'zai'], bounds })
    ;({ gateway } = vendors)
    ;({ bytedance, alibaba } = vendors.doubles)
  })
  beforeEach(() => vendors.reset())
  after(() => vendors.stop())

  const held = (double: ImageDouble) => {
    const gate = Promise.withResolvers<void>()
    double.play({ after: gate.promise, status: 503, body: {} })
    return gate.resolve
  }
  const cancel = (id: string, key = gateway.liveKey) =>
    gateway.fetch(`${jobsPath}/${id}/cancel`, { method: 'POST', key })
  const events = (id: string, headers = {}, key = gateway.liveKey) =>
    gateway.fetch(`${jobsPath}/${id}/events`, { key, headers })

  it('are accepted at once, and their result is that of a request that waits', async () => {
    const job = await startJob(gateway, { ...seedream, n: 2 })
    expect(job).to.deep.include({
      object: 'image.job',
      status: 'in_progress',
      operation: 'generation',
      model: seedream.model,
      completed_at: null,
      error: null,
      result: null,
      prompt: null,
    })
    const { result, ...ended } = await endedJob(gateway, job.id)
    expect(ended).to.include({ status: 'completed', error: null })
    expect(ended.expires_at - ended.completed_at!).to.be.within(7 * 86_400 - 2, 7 * 86_400 + 2)
    const plain = await vendors.images({ ...seedream, n: 2 })
    const { data, created: _created, ...same } = plain
    expect(result).to.deep.include(same)
    expect(result!.data).to.have.length(data.length)
    const whole = await getJob(gateway, job.id, gateway.liveKey, '?include=b64_json')
    for (const [
      index,
      { url, b64_json: base64, bytes, output_format },
    ] of whole.result!.data.entries()) {
      expect(url).to.include('/v1/images/files/')
      expect(Buffer.from(base64!, 'base64')).to.have.length(bytes)
      expect(output_format).to.equal(plain.output_format)
      expect(result!.data[index]).to.not.have.property('b64_json')
    }
    expect(await rowOf(gateway, job)).to.include({
      outcome: 'ok',
      images: 2,
      cost_nano_usd: 70_000_000,
    })
  })

  it('are never made unasked', async () => {
    for (const prefer of ['return=minimal', 'wait=20', 'respond-asynchronously', '']) {
      const response = await vendors.post(path, seedream, { headers: { prefer } })
      expect(response.status, prefer).to.equal(200)
      expect(response.headers.get('preference-applied')).to.equal(null)
    }
  })

  it('answer with the pictures if they are made within the preferred wait', async () => {
    const headers = { prefer: 'wait=30, Respond-Async; foo="a,b"' }
    const response = await vendors.post(path, seedream, { headers })
    expect(response.status, await response.clone().text()).to.equal(200)
    expect(response.headers.get('preference-applied')).to.equal('wait=30')
    const { data } = (await response.json()) as ImagesBody
    const id = response.headers.get('location')!.replace(`${jobsPath}/`, '')
    const job = await getJob(gateway, id, gateway.liveKey, '?include=b64_json')
    expect(job.status).to.equal('completed')
    expect(job.result!.data[0]!.b64_json).to.equal(data[0]!.b64_json)
    bytedance.delayBy(() => 1500)
    const { id: late } = await startJob(gateway, seedream, {
      headers: { prefer: 'respond-async,wait=1' },
    })
    expect((await endedJob(gateway, late)).status).to.equal('completed')
  })

  it('are refused with a status where the request would be, and fail as it would fail', async () => {
    const headers = { prefer: 'respond-async' }
    await expectError(await vendors.post(path, { ...seedream, model: 'x' }, { headers }), {
      status: 404,
      code: 'model_not_found',
    })
    await expectError(await vendors.post(path, { ...seedream, n: 11 }, { headers }), {
      status: 400,
      code: 'invalid_value',
      param: 'n',
    })
    bytedance.play({ status: 400, body: { error: { code: 'InvalidParameter', message: 'No.' } } })
    const { id } = await startJob(gateway, seedream)
    const { status, error, result } = await endedJob(gateway, id)
    expect({ status, result }).to.deep.equal({ status: 'failed', result: null })
    expect(error).to.include({ code: 'invalid_value', request_id: id.replace('imgjob', 'req') })
    expect(error!.message).to.include('No.')
  })

  it('are those of edits too', async () => {
    const image = (await vendors.images(seedream)).data[0]!.b64_json
    const images = [{ image_url: `data:image/png;base64,${image}` }]
    const job = await startJob(gateway, { ...seedream, images })
    expect(job.operation).to.equal('edit')
    expect((await endedJob(gateway, job.id)).status).to.equal('completed')
    const text = await (await events(job.id)).text()
    expect(text).to.include('event: image_edit.completed')
  })

  it('are watched, also again from the last event', async () => {
    const open = held(bytedance)
    bytedance.play('paint')
    const { id } = await startJob(gateway, { ...seedream, n: 1 })
    const watching = events(id)
    open()
    const failed = await (await watching).text()
    expect(failed).to.include('event: error').and.include('"type":"error"')
    expect(failed).to.include(`id: ${id}.end\n`)
    expect(await (await events(id, { 'last-event-id': `${id}.c0` })).text()).to.equal(failed)
    const job = await startJob(gateway, { ...seedream, n: 3 })
    const whole = await (await events(job.id)).text()
    const ids = [...whole.matchAll(/^id: (.*)$/gm)].map(([, found]) => found!)
    expect(ids).to.deep.equal([0, 1, 2].map((index) => `${job.id}.c${index}`))
    const data = [...whole.matchAll(/^data: (.*)$/gm)].map(
      ([, text]) => JSON.parse(text!) as object,
    )
    expect(data.map((one) => (one as { image_index: number }).image_index)).to.deep.equal([0, 1, 2])
    const again = await (await events(job.id, { 'last-event-id': ids[1]! })).text()
    expect(again).to.equal(whole.slice(whole.indexOf(`id: ${ids[2]}`)))
    // Else an `EventSource` would reconnect for as long as its page is open.
    for (const last of [ids[2]!, `${id}.end`]) {
      const none = await events(last.split('.')[0]!, { 'last-event-id': last })
      expect(none.status).to.equal(204)
    }
    for (const other of [`${id}.c0`, `${job.id}.c0.c1`, '7', 'imgjob_x.c0', `${job.id}.c0; x`]) {
      const refused = { status: 400, code: 'invalid_value', param: 'last-event-id' }
      await expectError(await events(job.id, { 'last-event-id': other }), refused)
    }
  })

  it('are cancelled at a vendor that has not begun, and then cost nothing', async () => {
    alibaba.workFor(1000)
    const { id } = await startJob(gateway, qwen)
    await until('the task exists', () => alibaba.tasks.size > 0)
    const task = [...alibaba.tasks.values()].at(-1)!
    const response = await cancel(id)
    expect(((await response.json()) as Job).status).to.equal('cancelled')
    await until('the row exists', async () => (await rowOf(gateway, { id })) !== undefined)
    const wasWaiting = task.state === 'cancelled'
    expect(await rowOf(gateway, { id })).to.include(
      wasWaiting ? { cost_nano_usd: 0, cost_status: 'exact' } : { cost_status: 'unknown' },
    )
    expect(((await (await cancel(id)).json()) as Job).status).to.equal('cancelled')
    expect(alibaba.polls.some(({ path: one }) => one.endsWith('/cancel'))).to.equal(true)
    await expectError(await cancel(`imgjob_${'0'.repeat(32)}`), missing)
  })

  it('end when another process cancels or deletes them', async () => {
    bytedance.play({ hang: true }, { hang: true })
    const [cancelled, deleted] = [
      await startJob(gateway, seedream),
      await startJob(gateway, seedream),
    ]
    await until('the vendor is asked', () => bytedance.calls.length === 2)
    const rows = gateway.db.updateTable('image_jobs')
    const ended = { status: 'cancelled', owner: null } as const
    await rows.set(ended).where('id', '=', cancelled.id).execute()
    await gateway.db.deleteFrom('image_jobs').where('id', '=', deleted.id).execute()
    await until('both calls are aborted', () => bytedance.calls.every(({ aborted }) => aborted))
    expect((await getJob(gateway, cancelled.id)).status).to.equal('cancelled')
  })

  it('exist only for their account and mode, until they are deleted', async () => {
    const { id } = await startJob(gateway, seedream)
    await endedJob(gateway, id)
    const other = await gateway.inNewAccount()
    for (const key of [gateway.testKey, other.liveKey]) {
      await expectError(await gateway.fetch(`${jobsPath}/${id}`, { key }), missing)
      await expectError(await events(id, {}, key), missing)
      await expectError(await cancel(id, key), missing)
      const removing = await gateway.fetch(`${jobsPath}/${id}`, { method: 'DELETE', key })
      await expectError(removing, missing)
    }
    await expectError(await gateway.fetch(`${jobsPath}/x'y`, { key: gateway.liveKey }), missing)
    const narrow = await gateway.createKey('live', { models: [seedream.model] })
    await expectError(await gateway.fetch(`${jobsPath}/${id}`, { key: narrow }), missing)
    const own = await startJob(gateway, seedream, { key: narrow })
    expect((await endedJob(gateway, own.id, narrow)).key_id).to.equal(own.key_id)
    const removed = await gateway.fetch(`${jobsPath}/${id}`, {
      method: 'DELETE',
      key: gateway.liveKey,
    })
    expect(await removed.json()).to.deep.equal({ id, object: 'image.job', deleted: true })
    await expectError(await gateway.fetch(`${jobsPath}/${id}`, { key: gateway.liveKey }), missing)
  })

  it('of a test key are made by the sandbox', async () => {
    const { id } = await startJob(gateway, qwen, { key: gateway.testKey })
    const { status, result } = await endedJob(gateway, id, gateway.testKey)
    expect(status).to.equal('completed')
    expect(result!.usage.cost_details).to.include({ mode: 'test' })
    expect(alibaba.calls).to.have.length(0)
  })

  it('are listed by page, the newest first', async () => {
    const account = await gateway.inNewAccount()
    const key = account.liveKey
    const made: string[] = []
    for (let index = 0; index < 5; index++)
      made.push((await startJob(account, seedream, { key })).id)
    for (const id of made) await endedJob(account, id, key)
    const list = async (query: string) => {
      const response = await account.fetch(`${jobsPath}?${query}`, { key })
      return (await response.json()) as { data: Job[]; has_more: boolean; last_id: string }
    }
    const first = await list('limit=3')
    expect(first.data.map(({ id }) => id)).to.deep.equal(made.toReversed().slice(0, 3))
    expect(first.data[0]).to.include({ status: 'completed', result: null })
    expect(first.has_more).to.equal(true)
    const second = await list(`limit=3&after=${first.last_id}`)
    expect(second.data.map(({ id }) => id)).to.deep.equal(made.toReversed().slice(3))
    expect(second.has_more).to.equal(false)
    expect((await list('status=failed')).data).to.deep.equal([])
    const wrong = await account.fetch(`${jobsPath}?after=x`, { key })
    await expectError(wrong, { status: 400, code: 'invalid_value', param: 'after' })
  })

  it('are read by the OpenAI client', async () => {
    const client = openAiClient(gateway, gateway.liveKey)
    const made = (await client.images.generate(
      { ...seedream, size: '1024x1024' },
      { headers: { prefer: 'respond-async', 'cache-control': 'no-store' } },
    )) as unknown as Job
    expect(made.object).to.equal('image.job')
    await endedJob(gateway, made.id)
    const job = await client.get<Job>(`/images/jobs/${made.id}`)
    expect((job as Job).status).to.equal('completed')
  })

  it('bring the same job for the same idempotency key', async () => {
    const headers = { 'idempotency-key': 'job-1' }
    const open = held(bytedance)
    const job = await startJob(gateway, seedream, { headers })
    expect((await startJob(gateway, seedream, { headers })).id).to.equal(job.id)
    open()
    await endedJob(gateway, job.id)
    expect((await startJob(gateway, seedream, { headers })).id).to.equal(job.id)
  })
})
