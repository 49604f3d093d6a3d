--  SPDX-License-Identifier: GPL-2.0-or-later
with Ada.Calendar; use Ada.Calendar;
with Ada.Command_Line;
with Ada.Text_IO;
procedure Hot is
   package Shapes is
      type Square is tagged record
         Side : Long_Float;
      end record;
      function Area (S : Square; Scale : Long_Float) return Long_Float;
   end Shapes;
   package body Shapes is
      function Area (S : Square; Scale : Long_Float) return Long_Float is
         R : Long_Float := 0.0;
      begin
         for I in 1 .. 1000 loop
            R := R + S.Side * Scale * Long_Float (I);
         end loop;
         return R;
      end Area;
   end Shapes;
   Total : Long_Float := 0.0;
   Ends  : constant Time :=
     Clock + (if Ada.Command_Line.Argument_Count = 0 then 0.6
              else Duration'Value (Ada.Command_Line.Argument (1)));
   One   : constant Shapes.Square := (Side => 1.5);
   procedure Every is
   begin
      for I in 1 .. 10 loop
         Total := Total + Shapes.Area (One, 3.0);
      end loop;
   end Every;
begin
   while Clock < Ends loop
      Every;
   end loop;
   Ada.Text_IO.Put_Line (Total'Image);
end Hot;
