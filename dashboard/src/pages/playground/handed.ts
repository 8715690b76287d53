import type { Mode } from '../../data/calling.ts'
import { picturesOf, retrieveJob, type ImageJob } from '../../data/image-jobs.ts'
import { place } from '../../data/place.ts'
import { storedJobs } from './attempts.ts'
import { noChat, type ChatForm } from './chat-request.ts'
import { formInPlace } from './form-link.ts'
import type { Entry } from './history-store.ts'
import { noChoice, type Choice } from './image-request.ts'

// The address of a link to another form in the same tab.
addEventListener('hashchange', () => location.hash.includes('=') && location.reload())

/**
 * What the page Pictures, a link or the history hands to the playground. Each tab changes it, so that the form and the
 * conversation are the same when the person comes back to the tab.
 */
export type Handed = {
  choice: Choice
  chat: ChatForm
  /** The conversation. */
  said?: Pick<Entry & { kind: 'chat' }, 'id' | 'turns'>
  /** The entry of the history that was opened. */
  opened?: Entry
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
export async function loadHanded(
  mode: Mode,
  opened: Entry | undefined,
  signal: AbortSignal,
): Promise<Handed> {
  const { query } = place.value
  const [again, input] = [query.get('again'), query.get('input')]
  const linked = formInPlace(noChoice)
  const handed = {
    choice: { ...linked, size: linked.size || (query.get('size') ?? '') },
    chat: formInPlace(noChat),
  }
  if (opened?.kind === 'pictures') return { ...handed, choice: opened.form, opened }
  if (opened?.kind === 'chat') return { ...handed, chat: opened.form, said: opened }
  if (again !== null) {
    const job = await retrieveJob(again, { mode, signal })
    return { ...handed, choice: choiceOf(job), lacksInputs: job.operation === 'edit' }
  }
  if (input === null) {
    handed.choice.prompt ||= storedJobs(mode)[0]?.prompt ?? ''
    return handed
  }
  const job = await retrieveJob(input, { mode, signal })
  const address = picturesOf(job)[Number(query.get('picture') ?? 0)]
  if (address === undefined) return handed
  const response = await fetch(address, { signal })
  return response.ok ? { ...handed, input: await response.blob() } : handed
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
