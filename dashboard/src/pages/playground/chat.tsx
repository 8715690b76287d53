import { useEffect, useRef, useState } from 'preact/hooks'
import { ReasoningEffortValues } from '../../../../generated/client-values.ts'
import { TextareaField } from '../../elements/controls.tsx'
import { InputField } from '../../elements/field.tsx'
import { Icon } from '../../elements/icon.tsx'
import { Form } from '../../elements/form.tsx'
import { Answer } from './answer.tsx'
import { newAttemptKey, type Mode } from '../../data/calling.ts'
import { chatLacks, chatRequest, endedTurns, type ChatForm, type Turn } from './chat-request.ts'
import { startAnswer } from './chat-stream.ts'
import { linkTo } from './form-link.ts'
import type { Handed } from './handed.ts'
import { record } from './history-store.ts'
import { Inputs, useInputs } from './inputs.tsx'
import { can, type Model } from './models.ts'
import { MoreOptions, Pick } from './options.tsx'
import { chosenOf, Pickers } from './pickers.tsx'
import { PriceList, sumText, usePrices } from './price.tsx'
import { Share, withoutBytes } from './share.tsx'

const parameter = 'chat_model'
/** Number of turns shown; older turns are removed. */
const turnsMax = 50
const picturesMax = 4

type Props = { models: readonly Model[]; mode: Mode; handed: Handed }

/** Chats with up to three models at once, each in its own conversation. */
export function Chat({ models, mode, handed }: Props) {
  const chosen = chosenOf(models, parameter)
  const [form, setForm] = useState(handed.chat)
  const { text } = form
  const { turns, isRunning, say, forget } = useTurns({ mode, handed, form })
  const sees = chosen.every((model) => can(model, 'vision'))
  const inputs = useInputs(sees ? picturesMax : 0)
  const next = { text, pictures: inputs.inputs }
  const requests = chosen.map((model) => chatRequest(model, { turns, next, choice: form }))
  const asked = text.trim() === '' ? { ...next, text: 'Hello' } : next
  const prices = usePrices(
    chosen.map((model) => {
      const request = chatRequest(model, { turns, next: asked, choice: form })
      return { ...request, body: withoutBytes(request.body) }
    }),
    mode,
  )
  const priced = chosen.map((model, index) => ({ model, request: requests[index]! }))
  const price = sumText(prices, priced)
  const send = () => {
    if (text.trim() === '' || isRunning) return
    say({
      ...next,
      asked: chosen.map(({ id }, index) => ({ model: id, request: requests[index]!, mode })),
    })
    setForm({ ...form, text: '' })
    inputs.clear()
  }
  return (
    <Form class="workbench" send={send}>
      <div class="card">
        <Pickers
          {...{ models, chosen, parameter }}
          lacksOf={(model) => chatLacks(model, inputs.count, form)}
        />
        <MoreOptions>
          <ChatOptions models={chosen} choice={form} choose={setForm} />
        </MoreOptions>
        <PriceList asked={priced} prices={prices} />
        <Share request={requests[0]} link={linkTo({ kind: 'chat', mode, models: chosen }, form)} />
      </div>
      <div>
        <Turns turns={turns} />
        <div class="card">
          <Message
            value={text}
            onInput={(value) => setForm({ ...form, text: value })}
            onSend={send}
          />
          {sees && <Inputs {...inputs} label="Pictures to show" most={picturesMax} />}
          <div class="row">
            <button disabled={isRunning || text.trim() === ''}>
              {price === undefined ? 'Send' : `Send for ${price}`}
            </button>
            {turns.length > 0 && (
              <button type="button" class="plain" disabled={isRunning} onClick={forget}>
                New chat
              </button>
            )}
          </div>
        </div>
      </div>
    </Form>
  )
}

type MessageProps = { value: string; onInput: (value: string) => void; onSend: () => void }

function Message({ value, onInput, onSend }: MessageProps) {
  return (
    <TextareaField
      label="Message"
      hint="Enter sends; Shift+Enter starts a new line."
      rows={3}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        // Safari ends the composition before the Enter that accepts it, whose code is 229.
        if (event.isComposing || event.keyCode === 229) return
        if (event.key !== 'Enter' || event.shiftKey) return
        event.preventDefault()
        onSend()
      }}
    />
  )
}

type Saying = Pick<Turn, 'text' | 'pictures'> & {
  asked: readonly Pick<Parameters<typeof startAnswer>[0], 'model' | 'request' | 'mode'>[]
}

type TurnsProps = { mode: Mode; handed: Handed; form: ChatForm }

/** The turns of the conversation, rendered once per animation frame while an answer streams. */
function useTurns({ mode, handed, form }: TurnsProps) {
  const [turns, setTurns] = useState<readonly Turn[]>(handed.said?.turns ?? [])
  const id = useRef(handed.said?.id ?? newAttemptKey())
  handed.said = { id: id.current, turns }
  handed.chat = form
  const frame = useRef(0)
  const open = useRef<Turn | undefined>(undefined)
  useEffect(
    () => () => {
      cancelAnimationFrame(frame.current)
      open.current?.answers.forEach((answer) => answer.stop?.())
    },
    [],
  )
  const onChange = () => {
    cancelAnimationFrame(frame.current)
    frame.current = requestAnimationFrame(() => setTurns((all) => [...all]))
  }
  const say = ({ text, pictures, asked }: Saying) => {
    const answers = asked.map((one) => startAnswer({ ...one, onChange }))
    const turn = { id: Date.now(), text, pictures, answers }
    open.current = turn
    setTurns((all) => [...all, turn].slice(-turnsMax))
  }
  const forget = () => {
    id.current = newAttemptKey()
    setTurns([])
  }
  const isRunning = turns.some(({ answers }) => answers.some(({ state }) => state === 'running'))
  useEffect(() => {
    if (isRunning || open.current === undefined || turns.length === 0) return
    const models = open.current.answers.map(({ model }) => model)
    void record({ kind: 'chat', id: id.current, mode, models, form, turns: endedTurns(turns) })
  }, [isRunning])
  return { turns, isRunning, say, forget }
}

function Turns({ turns }: { turns: readonly Turn[] }) {
  const last = useRef<HTMLElement>(null)
  useEffect(() => last.current?.scrollIntoView({ block: 'nearest' }), [turns.length])
  return (
    <>
      {turns.length === 0 && (
        <div class="card empty preview">
          <Icon name="requests" />
          <h2>The conversation appears here</h2>
          <p>The answers of several models side by side, each with its duration and cost.</p>
        </div>
      )}
      {turns.map((turn, at) => (
        <article key={turn.id} class="turn" ref={at === turns.length - 1 ? last : undefined}>
          <p class="asked">
            <span class="hidden">You said: </span>
            {turn.text}
          </p>
          {turn.pictures.length > 0 && (
            <p class="quiet">with {turn.pictures.map(({ name }) => name).join(', ')}</p>
          )}
          <div class="side-by-side">
            {turn.answers.map((answer, index) => (
              <Answer key={index} answer={answer} count={at + 1} />
            ))}
          </div>
        </article>
      ))}
    </>
  )
}

type OptionsProps = {
  models: readonly Model[]
  choice: ChatForm
  choose: (choice: ChatForm) => void
}

function ChatOptions({ models, choice, choose }: OptionsProps) {
  const every = (what: string) => models.every((model) => can(model, what))
  return (
    <>
      <TextareaField
        label="System prompt"
        rows={2}
        value={choice.system}
        onInput={(event) => choose({ ...choice, system: event.currentTarget.value })}
      />
      <div class="columns options">
        {every('accepts_temperature') && (
          <InputField
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step={0.1}
            placeholder="Default"
            value={choice.temperature}
            onInput={(event) => choose({ ...choice, temperature: event.currentTarget.value })}
          />
        )}
        <InputField
          label="Maximum tokens"
          type="number"
          min={1}
          placeholder="Default"
          value={choice.maxTokens}
          onInput={(event) => choose({ ...choice, maxTokens: event.currentTarget.value })}
        />
        {every('reasoning') && (
          <Pick
            label="Reasoning"
            values={ReasoningEffortValues}
            value={choice.effort}
            onPick={(effort) => choose({ ...choice, effort })}
          />
        )}
      </div>
    </>
  )
}
