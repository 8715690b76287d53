import type { ComponentChildren } from 'preact'
import { bodyOf, GET, type Schemas } from '../../data/api.ts'
import { useLoad } from '../../data/load.ts'
import { addressOf } from '../../data/place.ts'
import {
  accountQuery,
  isOperator,
  mayCreateKeys,
  sessionLoaded,
  signedIn,
} from '../../data/session.ts'
import { Failure } from '../../elements/failure.tsx'
import { Icon } from '../../elements/icon.tsx'
import { Money } from '../../elements/money.tsx'
import './welcome.css'

/** How often the page checks for the first call. */
const lookedEveryMs = 4000

/** First steps of a new member: a key, a call and its cost. The calls and keys of other people do not count. */
export function Page() {
  const steps = useLoad(`first steps ${mayCreateKeys.value} ${isOperator.value}`, askForSteps, {
    everyMs: lookedEveryMs,
  })
  const { hasKey = false, hasProvider, call, failed } = steps.data ?? {}
  return (
    <>
      <div class="head">
        <h1>Welcome, {signedIn.value?.person.name}</h1>
        <a href={addressOf('/overview')}>Skip to the overview</a>
      </div>
      <p class="quiet">A few steps show how the gateway works.</p>
      <Failure error={steps.error} again={steps.again} />
      <ol class="steps">
        <KeyStep isDone={hasKey} />
        <Step
          title="Call a model"
          isDone={call !== undefined}
          isNext={hasKey || !mayCreateKeys.value}
        >
          <p>
            Run the command shown with your key in a terminal, or{' '}
            <a href={addressOf('/playground', { mode: 'test' })}>
              create a picture in the playground
            </a>
            . Your call then appears on this page.
          </p>
          {failed !== undefined && (
            <p role="status">
              Your last call, to <code>{failed.model}</code>, failed.{' '}
              <a href={addressOf(`/requests/${failed.id}`)}>See why</a>
            </p>
          )}
        </Step>
        <Step title="See the cost" isDone={call !== undefined} isNext={call !== undefined}>
          {call === undefined ? (
            <p>
              Each call has a page with its cost, the calculation and the provider that answered.
            </p>
          ) : (
            <>
              <p>
                Your last successful call went to <code>{call.model}</code> and{' '}
                {call.cost.is_charged ? 'cost' : 'would have cost'}{' '}
                <Money usd={call.cost.amount?.usd} places={0} />
                {!call.cost.is_charged && '. Test keys are not charged'}.
              </p>
              <p>
                <a class="button" href={addressOf(`/requests/${call.id}`)}>
                  See the calculation
                </a>
              </p>
            </>
          )}
        </Step>
        {hasProvider !== undefined && (
          <ProviderStep isDone={hasProvider} isNext={call !== undefined} />
        )}
      </ol>
    </>
  )
}

function ProviderStep({ isDone, isNext }: { isDone: boolean; isNext: boolean }) {
  return (
    <Step title="Call real models" isDone={isDone} isNext={isNext}>
      {isDone ? (
        <p>
          A provider has a key. Now{' '}
          <a href={addressOf('/playground', { mode: 'live' })}>create a picture with a live key</a>.
        </p>
      ) : (
        <>
          <p>
            Until now the sandbox answered. Add the API key of a vendor to call its models with live
            keys.
          </p>
          <p>
            <a class="button" href={addressOf('/providers')}>
              Add a vendor's key
            </a>
          </p>
        </>
      )}
    </Step>
  )
}

function KeyStep({ isDone }: { isDone: boolean }) {
  if (!mayCreateKeys.value) {
    return (
      <Step title="Get a key" isDone={false} isNext>
        <p>Programs call the gateway with a key. Ask an administrator of the account for one.</p>
      </Step>
    )
  }
  return (
    <Step title="Create a key" isDone={isDone} isNext={!isDone}>
      <p>
        Programs call the gateway with a key. Start with a test key: it calls the sandbox and costs
        nothing.
      </p>
      <p>
        <a class={isDone ? 'button plain' : 'button'} href={addressOf('/keys/new')}>
          {isDone ? 'Create another key' : 'Create a key'}
        </a>
      </p>
    </Step>
  )
}

type StepProps = { title: string; isDone: boolean; isNext: boolean; children: ComponentChildren }

function Step({ title, isDone, isNext, children }: StepProps) {
  return (
    <li class={isNext || isDone ? 'card' : 'card later'}>
      <h2>
        {title}{' '}
        {isDone && (
          <span class="state good">
            <Icon name="check" /> done
          </span>
        )}
      </h2>
      {children}
    </li>
  )
}

type Call = Schemas['RequestRecord']

type Steps = {
  hasKey: boolean
  /** Undefined for people who may not configure providers. */
  hasProvider: boolean | undefined
  /** The person's last successful call; without one, the last failed one. */
  call?: Call | undefined
  failed?: Call | undefined
}

async function askForSteps(signal: AbortSignal): Promise<Steps> {
  await sessionLoaded
  const personId = signedIn.value?.person.id
  const query = { ...accountQuery(), limit: 1 }
  const lastCall = async (outcome?: 'ok') => {
    const [live, test] = await Promise.all(
      (['live', 'test'] as const).map((mode) => {
        const asked = { ...query, mode, member: personId, outcome }
        return bodyOf(GET('/api/requests', { params: { query: asked }, signal }))
      }),
    )
    return live?.data[0] ?? test?.data[0]
  }
  const calls = async () => {
    const call = await lastCall('ok')
    return call === undefined ? { failed: await lastCall() } : { call }
  }
  const keys = async () => {
    if (!mayCreateKeys.value) return false
    const asked = { ...query, created_by: personId }
    return (await bodyOf(GET('/api/keys', { params: { query: asked }, signal }))).data.length > 0
  }
  const providers = async () => {
    if (!isOperator.value) return undefined
    const { data } = await bodyOf(GET('/api/providers', { signal }))
    return data.some(({ is_configured: isConfigured }) => isConfigured)
  }
  const [hasKey, hasProvider, last] = await Promise.all([keys(), providers(), calls()])
  return { hasKey, hasProvider, ...last }
}
