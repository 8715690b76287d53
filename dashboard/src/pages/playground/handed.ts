import type { Mode } from '../../data/calling.ts'
import { picturesOf, retrieveJob, type ImageJob } from '../../data/image-jobs.ts'
import { place } from '../../data/place.ts'
import { storedJobs } from './attempts.ts'
import { noChoice, type Choice } from './image-request.ts'

/** What the page Pictures hands to the playground. */
export type Handed = {
  choice: Choice
  /** A picture to edit. */
  input?: Blob
  /** Whether the repeated request edited pictures, which the gateway does not store. */
  lacksInputs?: boolean
}

/** What the address asks for, by which it is loaded again. */
export const handedInPlace = (): string =>
  ['again', 'input', 'picture'].map((name) => place.value.query.get(name) ?? '').join(' ')

/**
 * Loads the job in the address: `again` names a job whose prompt and settings are used, `input` a job whose
 * picture at the place `picture` is edited.
 */
export async function loadHanded(mode: Mode, signal: AbortSignal): Promise<Handed> {
  const { query } = place.value
  const [again, input] = [query.get('again'), query.get('input')]
  const choice = { ...noChoice, size: query.get('size') ?? '' }
  if (again !== null) {
    const job = await retrieveJob(again, { mode, signal })
    const lacksInputs = job.operation === 'edit'
    return { choice: choiceOf(job), lacksInputs }
  }
  if (input === null) {
    return { choice: { ...choice, prompt: storedJobs(mode)[0]?.prompt ?? '' } }
  }
  const job = await retrieveJob(input, { mode, signal })
  const address = picturesOf(job)[Number(query.get('picture') ?? 0)]
  if (address === undefined) return { choice }
  const response = await fetch(address, { signal })
  return response.ok ? { choice, input: await response.blob() } : { choice }
}

/** Options by their names in a request. */
const names: Partial<Record<keyof Choice, keyof NonNullable<ImageJob['settings']>>> = {
  size: 'size',
  quality: 'quality',
  background: 'background',
  format: 'output_format',
  compression: 'output_compression',
  moderation: 'moderation',
  fidelity: 'input_fidelity',
}

function choiceOf({ prompt, settings = {} }: ImageJob): Choice {
  const given = Object.entries(names).map(([name, member]) => [name, settings[member] ?? ''])
  const texts = given.map(([name, value]) => [name, String(value)])
  return {
    ...noChoice,
    ...Object.fromEntries(texts),
    n: settings['n'] ?? 1,
    previews: String(settings.partial_images || ''),
    prompt: prompt ?? '',
  }
}
