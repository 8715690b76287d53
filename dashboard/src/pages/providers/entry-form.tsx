import type { Refusal, Schemas } from '../../data/api.ts'
import { textsOf } from '../../data/form.ts'
import { useAct } from '../../data/load.ts'
import { Select } from '../../elements/controls.tsx'
import { Dialog } from '../../elements/dialog.tsx'
import { Failure } from '../../elements/failure.tsx'
import { Field, type FieldAttributes } from '../../elements/field.tsx'
import { Form } from '../../elements/form.tsx'

export type EntryField = {
  name: string
  label: string
  hint?: string
  /** How messages of the gateway name the field. */
  words?: RegExp
  required?: boolean
  value?: string | undefined
  /** Lines of a text. */
  rows?: number
  /** Options of a selection. */
  choices?: readonly (readonly [value: string, text: string])[]
  /** The id of a list of suggestions. */
  list?: string
  isSecret?: boolean
}

/** The form of an entry of the stored settings. */
export type Entry = {
  title: string
  fields: readonly EntryField[]
  /** Stores the filled-in fields; resolves to a sentence about the result. Throws a Refusal. */
  save: (filled: Readonly<Record<string, string>>, force: boolean) => Promise<string>
  /** The error after which the form may be sent with `force`. */
  mayForceAfter?: Schemas['ErrorCode']
}
type Props = Entry & { onClose: () => void; onDone: (said: string) => void }

/** A dialog with the form of an entry, which shows each fault at its field. */
export function EntryForm({ title, fields, save, mayForceAfter, onClose, onDone }: Props) {
  const saving = useAct(async (form: HTMLFormElement, force: boolean) => {
    const said = await save(textsOf(new FormData(form)), force)
    onClose()
    onDone(said)
  })
  const { error, isBusy } = saving
  const faults = error === undefined ? [] : faultsOf(error, fields)
  return (
    <Dialog title={title} onClose={onClose} isLocked={isBusy}>
      <Form send={(_filled, form) => saving.run(form, false)}>
        {fields.map((field) => (
          <Field
            key={field.name}
            label={field.label}
            hint={field.hint}
            fault={
              faults.flatMap(({ at, text }) => (at === field ? text : [])).join(' ') || undefined
            }
          >
            {(attributes) => <Control field={field} attributes={attributes} />}
          </Field>
        ))}
        {faults.some(({ at }) => at === undefined) && <Failure error={error} />}
        <p class="row">
          <button type="submit" disabled={isBusy}>
            {isBusy ? 'Saving…' : 'Save'}
          </button>
          {error !== undefined && error.code === mayForceAfter && (
            <button
              type="button"
              class="plain"
              onClick={({ currentTarget: { form } }) => form && void saving.run(form, true)}
            >
              Save anyway
            </button>
          )}
        </p>
      </Form>
    </Dialog>
  )
}

type ControlProps = { field: EntryField; attributes: FieldAttributes }

function Control({ field, attributes }: ControlProps) {
  const { name, value, required = false, rows, choices, list, isSecret = false } = field
  const common = { ...attributes, name, required, spellcheck: false, autoComplete: 'off' } as const
  if (rows !== undefined)
    return <textarea {...common} class="entry-text" rows={rows} defaultValue={value} />
  if (choices !== undefined) return <Select {...common} choices={choices} chosen={value} />
  if (isSecret) return <input {...common} type="password" />
  return <input {...common} list={list} defaultValue={value} />
}

/** The faults, which the gateway returns one after the other, each with its field; without lines for several fields. */
function faultsOf({ message, code, param }: Refusal, fields: readonly EntryField[]) {
  const named = fields.find(({ name }) => name === param)
  const isWhole = fields.length === 1 || code !== 'invalid_value'
  const texts = isWhole
    ? [message]
    : message.replace(/^The settings are invalid\. /, '').split(breaks)
  return texts
    .filter((text) => text.trim() !== '')
    .map((text) => ({
      // The field shows what the path says.
      text: isWhole ? text : text.replace(/^\S+ must /, 'Must '),
      at: named ?? fields.find(({ words }) => words?.test(text)),
    }))
}

const breaks =
  /stored settings, line \d+: |(?=\bThe (?:base_url of the )?provider ')|(?=providers: )/
