import { useState } from 'preact/hooks'
import type { Mode } from '../../data/calling.ts'
import {
  cancelJob,
  costOf,
  deleteJob,
  isRunning,
  picturesOf,
  requestIdOf,
  retrieveJob,
  type ImageJob,
} from '../../data/image-jobs.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import { AskFirst } from '../../elements/ask-first.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Money } from '../../elements/money.tsx'
import { Time } from '../../elements/time.tsx'

export const statusTexts: Record<ImageJob['status'], string> = {
  queued: 'waiting',
  in_progress: 'in progress',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
}
const looks: Partial<Record<ImageJob['status'], string>> = {
  in_progress: 'warn',
  completed: 'good',
  failed: 'wrong',
}

type Props = {
  job: ImageJob
  mode: Mode
  /** Receives a sentence about an action that has changed the job. */
  onChanged: (said: string) => void
}

/** A job: its pictures, prompt and facts, with its actions. */
export function Tile({ job: listed, mode, onChanged }: Props) {
  const { id, status, model } = listed
  const asked = status === 'completed' || status === 'failed' ? id : ''
  // Lists have no results and no errors. Links end after an hour; a picture that cannot be loaded requests new ones.
  const loaded = useLoad(asked, async (signal) =>
    asked === '' ? listed : retrieveJob(id, { mode, signal }),
  )
  const job = loaded.data?.status === status ? loaded.data : listed
  const { prompt, error } = job
  const name = nameOf(job)
  const pictures = picturesOf(job)
  return (
    <li class="card job" aria-label={name}>
      {pictures.map((url, index) => (
        <Picture key={index} {...{ job, mode, url, index }} onBroken={loaded.again} />
      ))}
      {pictures.length === 0 && (
        <div class="no-picture">
          {isRunning(job) && <span class="spinner" aria-hidden="true" />}
          {error !== null && <p class="fault">{error.message}</p>}
        </div>
      )}
      <Failure error={loaded.error} again={loaded.again} />
      {prompt !== null && <p class="job-prompt">{prompt}</p>}
      <Facts job={job} />
      <div class="row">
        <a
          class="button plain small"
          href={addressOf('/playground', {
            ...playgroundIn(mode),
            again: id,
            image_model: model,
            choose: 'true',
          })}
        >
          Again with another model
        </a>
        <Acts job={job} mode={mode} name={name} onChanged={onChanged} />
      </div>
    </li>
  )
}

const nameOf = ({ id, model, prompt }: ImageJob): string =>
  prompt?.slice(0, 200) ?? `${model}, ${id.slice(-6)}`

const playgroundIn = (mode: Mode) => ({
  tab: 'pictures',
  mode: mode === 'test' ? mode : undefined,
})

type PictureProps = Pick<Props, 'job' | 'mode'> & {
  url: string
  index: number
  onBroken: () => void
}

function Picture({ job, mode, url, index, onBroken }: PictureProps) {
  const [brokenUrls, setBrokenUrls] = useState<readonly string[]>([])
  const { id, model, operation } = job
  const input = {
    ...playgroundIn(mode),
    input: id,
    picture: String(index),
    // Another model may not be able to edit pictures.
    image_model: operation === 'edit' ? model : undefined,
  }
  return (
    <figure class="job-picture">
      {brokenUrls.includes(url) ? (
        <p class="no-picture">The picture cannot be loaded. Reload the page.</p>
      ) : (
        <a href={url} target="_blank" rel="noreferrer">
          <img
            src={url}
            alt={`Picture ${index + 1}: ${nameOf(job)}`}
            loading="lazy"
            onError={() => {
              setBrokenUrls([...brokenUrls, url])
              if (brokenUrls.length === 0) onBroken()
            }}
          />
        </a>
      )}
      <figcaption class="row">
        <a class="button plain small" href={url} download>
          Download
        </a>
        {job.result?.data[index]?.output_format !== 'svg' && (
          <a class="button plain small" href={addressOf('/playground', input)}>
            Use as input
          </a>
        )}
      </figcaption>
    </figure>
  )
}

function Facts({ job }: Pick<Props, 'job'>) {
  const { id, status, model, key_id: keyId, key_name: keyName, result } = job
  return (
    <>
      <p class="row">
        <span class={`state ${looks[status] ?? ''}`}>{statusTexts[status]}</span>
        {result !== null && <Money usd={costOf(result.usage)} />}
        <a href={addressOf(`/requests/${requestIdOf(id)}`)}>Request</a>
      </p>
      <dl class="facts">
        <dt>Model</dt>
        <dd>{model}</dd>
        <dt>Key</dt>
        <dd>{keyName ?? keyId}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={isoOf(job.created_at)} />
        </dd>
        <dt>Expires</dt>
        <dd>
          <Time at={isoOf(job.expires_at)} />
        </dd>
      </dl>
    </>
  )
}

const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString()

function Acts({ job, mode, name, onChanged }: Props & { name: string }) {
  const asking = { mode, signal: new AbortController().signal }
  const button = (text: string) => ({ text, class: 'plain small', label: `${text} (${name})` })
  if (isRunning(job)) {
    return (
      <AskFirst
        button={button('Cancel…')}
        title="Cancel this job?"
        act="Cancel the job"
        run={async () => {
          const { status } = await cancelJob(job.id, asking)
          return status === 'cancelled' ? 'The job is cancelled.' : 'The job had already ended.'
        }}
        onDone={onChanged}
      >
        <p>Its pictures are not kept. The provider may charge what it has begun.</p>
      </AskFirst>
    )
  }
  return (
    <AskFirst
      button={button('Delete…')}
      title="Delete this job?"
      act="Delete"
      run={async () => {
        await deleteJob(job.id, asking)
        return 'The job and its pictures are deleted.'
      }}
      onDone={onChanged}
    >
      <p>Its pictures are deleted too, for all people of the account. Its cost stays recorded.</p>
    </AskFirst>
  )
}
