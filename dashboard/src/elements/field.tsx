import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** What ties a control to its label, its hint and its fault. */
export type FieldAttributes = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }

type Props = {
  label: string
  hint?: ComponentChildren
  /** What is wrong with what was given. */
  fault?: string | undefined
  children: (attributes: FieldAttributes) => ComponentChildren
}

/** A control with its label; `children` makes it, with the attributes that it is given. */
export function Field({ label, hint, fault, children }: Props) {
  const id = useId()
  const told = [...(hint === undefined ? [] : ['hint']), ...(fault === undefined ? [] : ['fault'])]
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(told.length === 0
          ? {}
          : { 'aria-describedby': told.map((name) => `${id}-${name}`).join(' ') }),
        ...(fault === undefined ? {} : { 'aria-invalid': 'true' }),
      })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  )
}
