import type { ComponentProps, Ref } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { setQuery } from '../../data/place.ts'
import { TextareaField } from '../../elements/controls.tsx'
import { Icon } from '../../elements/icon.tsx'
import { Form } from '../../elements/form.tsx'
import { useAttempts } from './attempts.ts'
import type { Mode } from '../../data/calling.ts'
import { Columns } from './columns.tsx'
import { linkTo } from './form-link.ts'
import { Gallery } from './gallery.tsx'
import type { Handed } from './handed.ts'
import {
  imageLacks,
  imageRequest,
  watchedBody,
  withinOptions,
  type Choice,
} from './image-request.ts'
import { Inputs, useInputs } from './inputs.tsx'
import { optionsOf, type Model } from './models.ts'
import { MoreOptions, Options } from './options.tsx'
import { chosenOf, Pickers } from './pickers.tsx'
import { PriceList, sumText, usePrices } from './price.tsx'
import { Share, withoutBytes } from './share.tsx'

const parameter = 'image_model'
/** The prompt in price requests while the field is empty; prices do not depend on the prompt. */
const anyPrompt = 'A picture'

type Props = { models: readonly Model[]; mode: Mode; handed: Handed }

/** Creates and edits pictures with up to three models, and shows the price before each call. */
export function Pictures({ models, mode, handed }: Props) {
  const { attempts, isRunning, start, again } = useAttempts(mode, handed.opened)
  const wanted = useWanted({ models, mode, handed })
  const { chosen, options, inputs, isEdit, choice, choose, requests } = wanted
  const prompt = useRef<HTMLTextAreaElement>(null)
  const edit = (picture: Blob) => {
    void inputs.add([picture])
    prompt.current?.focus()
  }
  const run = () => {
    if (isRunning) return
    start(
      chosen.map(({ id }, index) => ({
        model: id,
        prompt: choice.prompt,
        choice,
        request: requests[index]!,
        mode,
      })),
    )
  }
  return (
    <Form class="workbench" send={run}>
      <div class="card">
        <Pickers {...{ models, chosen, parameter }} lacksOf={wanted.lacksOf} />
        <MoreOptions>
          <Options choice={choice} options={options} isEdit={isEdit} choose={choose} />
        </MoreOptions>
        <PriceList asked={wanted.priced} prices={wanted.prices} />
        <Share
          request={requests[0]}
          link={linkTo({ kind: 'pictures', mode, models: chosen }, choice)}
        />
      </div>
      <div>
        <div class="card">
          <Prompt
            field={prompt}
            value={choice.prompt}
            onInput={(text) => choose({ prompt: text })}
          />
          {options.inputsMax > 0 && (
            <Inputs {...inputs} label="Pictures to edit" most={options.inputsMax} />
          )}
          {handed.lacksInputs && !isEdit && (
            <p class="hint">
              The gateway does not store the pictures that were edited. Add them again.
            </p>
          )}
          <Send {...wanted} {...{ attempts, isRunning }} />
        </div>
        <Results attempts={attempts} again={again} onEdit={edit} />
      </div>
    </Form>
  )
}

type SendProps = ReturnType<typeof useWanted> &
  Pick<ReturnType<typeof useAttempts>, 'attempts' | 'isRunning'>

function Send({
  options,
  inputs,
  choice,
  isEdit,
  chosen,
  attempts,
  isRunning,
  ...wanted
}: SendProps) {
  const isShort = inputs.inputs.length < options.inputsMin
  return (
    <>
      {isShort && <p class="hint above">This model only edits pictures. Add a picture to edit.</p>}
      <div class="row">
        {/* It stays enabled while calls run: a disabled button would lose the focus. */}
        <button
          disabled={isShort || choice.prompt.trim() === ''}
          aria-disabled={isRunning ? 'true' : undefined}
        >
          {buttonText({
            isEdit,
            count: choice.n * chosen.length,
            price: sumText(wanted.prices, wanted.priced),
          })}
        </button>
        {isRunning && (
          <button
            type="button"
            class="plain"
            onClick={() => attempts.forEach((one) => one.state === 'running' && one.cancel())}
          >
            Cancel all
          </button>
        )}
      </div>
    </>
  )
}

function Results(results: ComponentProps<typeof Columns>) {
  return (
    <>
      {results.attempts.length === 0 && (
        <div class="card empty preview">
          <Icon name="picture" />
          <h2>The pictures appear here</h2>
          <p>Those of several models side by side, each with its duration and cost.</p>
        </div>
      )}
      <Columns {...results} />
      <Gallery {...results} />
    </>
  )
}

/** The chosen options, their requests and prices. */
function useWanted({ models, mode, handed }: Props) {
  const chosen = chosenOf(models, parameter)
  const [given, setGiven] = useState(handed.choice)
  handed.choice = given
  const options = optionsOf(chosen)
  const inputs = useInputs(options.inputsMax)
  useEffect(() => {
    if (handed.input !== undefined) void inputs.add([handed.input])
  }, [])
  const isEdit = inputs.inputs.length > 0
  const choice = withinOptions(given, options, isEdit)
  const urls = inputs.inputs.map(({ url }) => url)
  const prompt = choice.prompt.trim() || anyPrompt
  const asked = chosen.map((model) => imageRequest(model, { ...choice, prompt }, urls))
  const prices = usePrices(
    asked.map((one) => ({ ...one, body: withoutBytes(watchedBody(one)) })),
    mode,
  )
  return {
    chosen,
    options,
    inputs,
    isEdit,
    choice,
    choose: (change: Partial<Choice>) => {
      setGiven({ ...given, ...change })
      if (change.size !== undefined) setQuery({ size: change.size || undefined })
    },
    requests: chosen.map((model) => imageRequest(model, choice, urls)),
    prices,
    priced: chosen.map((model, index) => ({ model, request: asked[index]! })),
    lacksOf: (model: Model) => imageLacks(model, given, inputs.count),
  }
}

type PromptProps = {
  field: Ref<HTMLTextAreaElement>
  value: string
  onInput: (value: string) => void
}

function Prompt({ field, value, onInput }: PromptProps) {
  return (
    <TextareaField
      label="Prompt"
      ref={field}
      rows={3}
      required
      placeholder="A lighthouse in a storm"
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  )
}

type ButtonState = { isEdit: boolean; count: number; price: string | undefined }

function buttonText({ isEdit, count, price }: ButtonState): string {
  const what = `${isEdit ? 'Edit' : 'Create'} ${count === 1 ? 'the picture' : `${count} pictures`}`
  return price === undefined ? what : `${what} for ${price}`
}
